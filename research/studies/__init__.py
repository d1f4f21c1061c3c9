"""Measurements that are repeated now and then, outside the pipeline."""
