"""Ask a model one question with a prompt and a confidence method, as a solver of inspect_ai."""

from __future__ import annotations

from inspect_ai.model import ModelOutput, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver

from .inspect_model import InspectModel, to_chat_message
from .question_dialog import PromptedRun, Transcript, ask_question


@solver
def ask_by_inspect(prompted_run: PromptedRun) -> Solver:
    """Return a solver of inspect_ai that asks the question of a sample.

    The answer becomes the output of the sample. The solver adds to the metadata of the sample: `confidence`,
    `detected_abstention`, and `raw_replies`, the texts of all replies, including unusable ones.

    Raises:
        UnusableReply: A reply was truncated, or the method gives no confidence.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        transcript = Transcript()
        state.metadata["raw_replies"] = transcript.raw_replies
        model = InspectModel(get_model, prompted_run.settings)
        answer = await ask_question(
            prompted_run, model, state.input_text, state.metadata["image_id"], transcript
        )
        state.messages = [to_chat_message(message) for message in transcript.messages]
        output = ModelOutput.from_content(model.name, answer.prediction)
        if answer.distribution:
            output.metadata = {"distribution": answer.distribution}
        state.output = output
        state.metadata |= {"confidence": answer.confidence, "detected_abstention": answer.has_abstained}
        return state

    return solve
