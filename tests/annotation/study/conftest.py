"""A quality report of three tasks that three people judged."""

import msgspec

from annotation.study.judged import CollectRules, judged_tasks
from annotation.study.quality_figures import summary
from annotation.study.votes import verify
from annotation.study.weighing import weigh
from pipeline.core.records import Candidate, Judgement, Screened, Task, TaskQuestion, Verdict

V, X, U = "valid", "invalid", "unsure"
RULES = CollectRules(min_filter_answers=2, min_filter_accuracy=0.5)


def quality(ann="ann", text="filter", simulated=False, seconds=None):
    """Three tasks, judged by three; the last fails two of three filters and is excluded; the filter of c is refuted."""
    tasks = {
        key: Task(
            task_id=key,
            picture_id=f"n{key}",
            subset="clip-hard",
            first=TaskQuestion(key="1", text="candidate", role="candidate", candidate_id=f"c{key}"),
            second=TaskQuestion(key="2", text=text, role="filter", expected=V, source="own question"),
        )
        for key in "abc"
    }
    given = {
        ann: {"a": (X, V), "b": (X, U), "c": (V, X)},
        "ben": {"a": (X, V), "b": (V, X), "c": (V, X)},
        "cem": {"a": (V, X), "b": (V, X), "c": (V, X)},
    }
    verdicts = [
        Verdict(
            verdict_id=who + key,
            task_id=key,
            annotator=who,
            first=first,
            second=second,
            order=n,
            seconds=seconds,
            simulated=simulated,
        )
        for who, row in given.items()
        for n, (key, (first, second)) in enumerate(row.items())
    ]
    screened = [
        Screened(
            candidate=Candidate(
                candidate_id=f"c{k}", subset="clip-hard", picture_id="n", question_id="q", text="candidate"
            ),
            judgement=Judgement(answerability="unknown"),
        )
        for k in "abc"
    ]
    weighed = weigh(judged_tasks(tasks, verdicts), RULES)
    verified = verify(screened, weighed.judged, RULES)
    return summary(weighed, verified, [], [], msgspec.structs.asdict(RULES))
