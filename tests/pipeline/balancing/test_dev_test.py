from pipeline.balancing.dev_test import parts

IDS = [f"n{i}" for i in range(2000)]


def test_the_share_of_dev_is_about_what_was_asked_for():
    # 2,000 pictures, share 0.2: 400 expected, standard deviation 18.
    assert 330 < sum(part == "dev" for part in parts(IDS, 0.2, 0).values()) < 470
    assert set(parts(IDS, 0.0, 0).values()) == {"test"}
    assert set(parts(IDS, 1.0, 0).values()) == {"dev"}


def test_a_pictures_part_depends_on_its_id_and_the_seed_alone():
    whole = parts(IDS, 0.2, 0)
    assert all(part == whole[picture] for picture, part in parts(IDS[500:700], 0.2, 0).items())
    assert whole != parts(IDS, 0.2, 1)
