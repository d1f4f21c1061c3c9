"""The labeling interface (interface.xml) and its controls."""

from xml.etree import ElementTree

from annotation.client.labeling_config import TEXTS_DIR

TREE = ElementTree.parse(TEXTS_DIR / "interface.xml").getroot()
CONTROLS = {tag.get("name"): tag for tag in TREE.iter("Choices")}
