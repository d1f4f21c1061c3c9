from collections import Counter
from itertools import combinations

import msgspec
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from annotation.study.plan import NEAR, AnnotateParams, StudyState, overlapping, plan
from tests.annotation.conftest import SUBSETS, made_task, people

TASKS = [made_task(number) for number in range(240)]  # 60 of each subset
SUBSET = {task.task_id: task.subset for task in TASKS}
PARAMS = AnnotateParams(votes=2, seed=1)


def params(**changes):
    return msgspec.structs.replace(PARAMS, **changes)


def votes(planned):
    return Counter(key for row in planned.queues.values() for key in row)


def by_subset(row):
    return Counter(SUBSET[key] for key in row)


def moved(before, after):
    """How many (annotator, task) pairs of the first plan are not in the second."""
    return sum(len(set(before.queues[name]) - set(after.queues.get(name, ()))) for name in before.queues)


def given_by(planned, **more):
    return StudyState(held=planned.queues, **more)


def without(roster, name):
    return [
        msgspec.structs.replace(person, active=person.active and person.name != name) for person in roster
    ]


def test_every_task_gets_its_votes_from_different_people():
    planned = plan(TASKS, people("ann", "ben", "cyd"), PARAMS)
    assert votes(planned) == dict.fromkeys(SUBSET, 2)
    assert all(len(row) == len(set(row)) for row in planned.queues.values())
    assert planned.short == {}


def test_load_is_equal_in_all_and_in_each_subset():
    # 240 tasks x 2 votes / 3 people = 160 each, 40 of each subset.
    planned = plan(TASKS, people("ann", "ben", "cyd"), PARAMS)
    assert [len(row) for row in planned.queues.values()] == [160] * 3
    assert all(abs(count - 40) <= 1 for row in planned.queues.values() for count in by_subset(row).values())


def test_load_follows_the_shares():
    # Shares 1, 1, 2 of 480 votes: 120, 120, 240; a task cannot be judged twice by one person, 240 is just possible.
    planned = plan(TASKS, people("ann", "ben", "cyd", cyd=2), PARAMS)
    assert [len(row) for row in planned.queues.values()] == pytest.approx([120, 120, 240], abs=4)


def test_pictures_are_mixed_evenly():
    # 5 pictures with 48 tasks each; 48 x 2 votes / 3 people = 32 of each picture for everybody.
    planned = plan(TASKS, people("ann", "ben", "cyd"), PARAMS)
    picture = {task.task_id: task.picture_id for task in TASKS}
    for row in planned.queues.values():
        assert all(abs(count - 32) <= 3 for count in Counter(picture[key] for key in row).values())


def test_all_pairs_of_annotators_share_about_as_many_tasks():
    # 240 tasks, one pair each, 15 pairs of 6 people: 16 each.
    planned = plan(TASKS, people(*"abcdef"), PARAMS)
    shared = [len(set(a) & set(b)) for a, b in combinations(planned.queues.values(), 2)]
    assert sum(shared) == 240
    assert min(shared) >= 8 and max(shared) <= 24


def test_everybody_is_joined_with_everybody_through_common_tasks_so_that_agreement_can_be_computed():
    planned = plan(TASKS[:12], people(*"abcdefgh"), PARAMS)  # few tasks for many people
    rows = [set(row) for row in planned.queues.values()]
    links = [(i, j) for (i, a), (j, b) in combinations(enumerate(rows), 2) if a & b]
    graph = coo_array(([1] * len(links), tuple(zip(*links, strict=True))), shape=(8, 8))
    assert connected_components(graph, directed=False)[0] == 1


def test_the_order_is_mixed_over_subsets_and_different_for_everybody():
    planned = plan(TASKS, people("ann", "ben"), PARAMS)
    first, second = planned.queues.values()
    assert set(first) == set(second) and first != second
    # 40 tasks drawn from four subsets of equal size: fewer than 2 of one is less likely than 1 in 2,000.
    assert all(by_subset(row[:40])[subset] >= 2 for row in (first, second) for subset in SUBSETS)


def test_the_same_input_gives_the_same_plan_and_another_seed_another():
    roster = people("ann", "ben", "cyd")
    assert plan(TASKS, roster, PARAMS) == plan(TASKS[::-1], roster, PARAMS)
    assert plan(TASKS, roster, PARAMS) != plan(TASKS, roster, params(seed=2))


def test_planning_again_changes_nothing():
    roster = people("ann", "ben", "cyd")
    planned = plan(TASKS, roster, PARAMS)
    assert plan(TASKS, roster, PARAMS, given_by(planned)) == planned


def test_a_share_of_every_subset_is_judged_by_all():
    planned = plan(TASKS, people(*"abcd"), params(votes=1, overlap=0.1))
    everybody = {key for key, count in votes(planned).items() if count == 4}
    assert by_subset(everybody) == dict.fromkeys(SUBSETS, 6)  # a tenth of 60
    assert set(votes(planned).values()) == {1, 4}


def test_the_tasks_for_all_do_not_depend_on_who_annotates():
    assert overlapping(TASKS, params(overlap=0.2)) == overlapping(TASKS[::-1], params(overlap=0.2))


def test_nobody_gets_more_than_the_limit_and_what_is_left_is_told():
    # 3 people x 100 = 300 of 480 votes: 150 tasks get both, 180 votes are missing.
    planned = plan(TASKS, people("ann", "ben", "cyd"), params(most_tasks=100))
    assert [len(row) for row in planned.queues.values()] == [100] * 3
    assert sum(planned.short.values()) == 180
    assert Counter(votes(planned).values())[2] >= 149  # whole tasks, not halves


def test_the_limit_counts_what_somebody_did_before():
    roster = people("ann", "ben")
    judged = {key: {"annotator-01"} for key in sorted(SUBSET)[:90]}
    planned = plan(TASKS, roster, params(most_tasks=100), StudyState(judged=judged))
    assert len(planned.queues["annotator-01"]) == 10


def test_too_few_people_for_the_votes_are_told_task_by_task():
    planned = plan(TASKS, people("ann"), PARAMS)
    assert planned.short == dict.fromkeys(SUBSET, 1)
    assert plan(TASKS, [], PARAMS).short == dict.fromkeys(SUBSET, 2)


def test_who_joins_gets_an_equal_part_and_nothing_else_moves():
    # 480 votes: 160 each of 3, 120 each of 4; the newcomer's 120 are all that moves.
    roster = people("ann", "ben", "cyd", "dan")
    before = plan(TASKS, roster[:3], PARAMS)
    after = plan(TASKS, roster, PARAMS, given_by(before))
    assert votes(after) == dict.fromkeys(SUBSET, 2)
    assert len(after.queues["annotator-04"]) == pytest.approx(120, abs=2)
    assert moved(before, after) == len(after.queues["annotator-04"])
    assert all(abs(count - 30) <= 1 for count in by_subset(after.queues["annotator-04"]).values())


def test_when_somebody_leaves_only_their_open_tasks_move():
    roster = people("ann", "ben", "cyd", "dan")
    before = plan(TASKS, roster, PARAMS)
    after = plan(TASKS, without(roster, "dan"), PARAMS, given_by(before))
    assert "annotator-04" not in after.queues
    assert votes(after) == dict.fromkeys(SUBSET, 2)
    assert moved(before, after) == len(before.queues["annotator-04"])
    assert [len(row) for row in after.queues.values()] == pytest.approx([160] * 3, abs=4)


def test_what_was_judged_counts_and_does_not_come_back():
    roster = people("ann", "ben", "cyd")
    before = plan(TASKS, roster, PARAMS)
    done = before.queues["annotator-01"][:50]
    held = {
        name: [key for key in row if name != "annotator-01" or key not in done]
        for name, row in before.queues.items()
    }
    judged = {key: {"annotator-01"} for key in done}
    after = plan(TASKS, without(roster, "ann"), PARAMS, StudyState(held=held, judged=judged))
    assert all(votes(after)[key] == 1 for key in done)  # one more vote than ann's
    assert all(votes(after)[key] == 2 for key in set(SUBSET) - set(done))


def test_a_skipped_task_goes_to_somebody_else():
    roster = people("ann", "ben", "cyd")
    planned = plan(TASKS, roster, PARAMS, StudyState(skipped={"t0000": {"annotator-01", "annotator-02"}}))
    assert planned.short == {"t0000": 1}
    assert [name for name, row in planned.queues.items() if "t0000" in row] == ["annotator-03"]


def test_a_task_that_needs_another_vote_goes_to_somebody_new_and_the_excluded_get_nothing():
    roster = people("ann", "ben", "cyd", "dan")
    judged = {key: {"annotator-01", "annotator-02"} for key in SUBSET}
    planned = plan(
        TASKS,
        roster,
        PARAMS,
        StudyState(judged=judged, wanted={"t0007": 3}, excluded=frozenset({"annotator-03"})),
    )
    assert planned.queues == {"annotator-01": [], "annotator-02": [], "annotator-04": ["t0007"]}


def test_the_next_tasks_of_a_queue_never_move_as_one_is_on_the_screen():
    roster = people("ann", "ben")
    before = plan(TASKS, roster[:1], params(votes=1))
    after = plan(TASKS, roster, params(votes=1), given_by(before))
    assert after.queues["annotator-01"][:NEAR] == before.queues["annotator-01"][:NEAR]
    assert len(after.queues["annotator-02"]) == pytest.approx(120, abs=2)


def test_a_small_unevenness_moves_nothing():
    # ann did 10 of 160 and ben 4: their open tasks differ by less than a tenth of 153.
    roster = people("ann", "ben", "cyd")
    before = plan(TASKS, roster, PARAMS)
    judged, held = {}, {name: list(row) for name, row in before.queues.items()}
    for name, count in (("annotator-01", 10), ("annotator-02", 4)):
        for key in held[name][:count]:
            judged.setdefault(key, set()).add(name)
        held[name] = held[name][count:]
    after = plan(TASKS, roster, PARAMS, StudyState(held=held, judged=judged))
    assert after.queues == held


def test_a_slow_annotators_open_tasks_go_to_those_who_are_done():
    roster = people("ann", "ben")
    before = plan(TASKS, roster, params(votes=1))  # 120 each
    done = {key: {"annotator-01"} for key in before.queues["annotator-01"]}
    held = {"annotator-01": [], "annotator-02": before.queues["annotator-02"]}
    after = plan(TASKS, roster, params(votes=1), StudyState(held=held, judged=done))
    assert [len(row) for row in after.queues.values()] == pytest.approx([60, 60], abs=4)


@settings(max_examples=40, deadline=None)
@drawn(st.data())
def test_no_plan_breaks_the_rules(data):
    tasks = [made_task(number) for number in range(data.draw(st.integers(0, 60)))]
    keys = [task.task_id for task in tasks]
    roster = people(*"abcdef"[: data.draw(st.integers(1, 6))])
    roster = [
        msgspec.structs.replace(
            person, active=data.draw(st.booleans()), share=data.draw(st.sampled_from([0.5, 1.0, 3.0]))
        )
        for person in roster
    ]
    names = [person.pseudonym for person in roster]
    some = st.dictionaries(st.sampled_from(keys), st.sets(st.sampled_from(names))) if keys else st.just({})
    judged, skipped = data.draw(some), data.draw(some)
    held = {name: data.draw(st.lists(st.sampled_from(keys), unique=True)) if keys else [] for name in names}
    rules = AnnotateParams(
        votes=data.draw(st.integers(1, 4)),
        overlap=data.draw(st.sampled_from([0.0, 0.3, 1.0])),
        most_tasks=data.draw(st.sampled_from([0, 5])),
        seed=data.draw(st.integers(0, 3)),
    )
    planned = plan(tasks, roster, rules, StudyState(judged=judged, skipped=skipped, held=held))
    assert set(planned.queues) == {person.pseudonym for person in roster if person.active}
    together = overlapping(tasks, rules)
    count = votes(planned)
    for name, row in planned.queues.items():
        assert len(row) == len(set(row))
        assert not any(name in judged.get(key, ()) or name in skipped.get(key, ()) for key in row)
        before = sum(name in judged.get(key, set()) | skipped.get(key, set()) for key in keys)
        assert not rules.most_tasks or not row or before + len(row) <= rules.most_tasks
    for key in keys:
        wanted = max(0, rules.votes - len(judged.get(key, ())))
        if key in together:
            wanted = len(set(planned.queues) - judged.get(key, set()) - skipped.get(key, set()))
        assert count[key] + planned.short.get(key, 0) == wanted
