"""BFCL's own handler loop and checker, run with a ``Policy`` in place of a vendor's client.

BFCL's evaluation runner is not used, because importing it requires the client package of every vendor. ``judge`` does
what that runner does for one multi-turn entry.
"""

from __future__ import annotations

import builtins
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from bfcl_eval.constants.enums import ModelStyle
from bfcl_eval.constants.type_mappings import GORILLA_TO_OPENAPI
from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_utils
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import multi_turn_checker
from bfcl_eval.model_handler import base_handler
from bfcl_eval.model_handler.utils import convert_to_function_call, convert_to_tool
from bfcl_eval.utils import load_dataset_entry, load_ground_truth_entry

from spadework.envs.tool_calls import Call
from spadework.evals.harness_policy import HarnessPolicy, HarnessReply

Entry = dict[str, Any]
Step = list[dict[str, dict[str, Any]]] | str
"""One model step in the form that BFCL's checker reads: a list of calls, or the text of a message without calls."""

base_handler.print = lambda *_: None  # BFCL's loop prints every step to standard output


def load(category: str) -> tuple[list[Entry], list[list[list[str]]]]:
    """The entries of a category with their tools, and the gold calls of each entry's turns."""
    entries = load_dataset_entry(f"multi_turn_{category}")
    gold = {row["id"]: row["ground_truth"] for row in load_ground_truth_entry(f"multi_turn_{category}")}
    return entries, [gold[entry["id"]] for entry in entries]


def converse(speaker: HarnessPolicy, entry: Entry) -> list[list[Step]]:
    """Play one entry and return the model's steps of each turn. Modifies ``entry``. Blocks: run it in a thread."""
    handler = _Handler(speaker)
    try:
        turns, _ = handler.inference(entry, include_input_log=False, exclude_state_log=True)
    finally:
        _forget(handler.model_name)
    return list(turns)


def judge(turns: Sequence[Sequence[Step]], gold: list[list[str]], entry: Entry) -> Mapping[str, Any]:
    """The checker's verdict: ``valid``, and, where that is false, ``error_type`` and ``error_message``."""
    if len(turns) != len(gold):
        return {"valid": False, "error_type": "multi_turn:force_terminated", "error_message": f"in turn {len(turns)}"}
    decoded = [
        [step for step in map(decode, turn) if not multi_turn_utils.is_empty_execute_response(step)] for turn in turns
    ]
    name = _unique()
    try:
        verdict: Mapping[str, Any] = multi_turn_checker(decoded, gold, entry, entry["id"].rsplit("_", 1)[0], name)
    finally:
        _forget(name)
    return verdict


def decode(step: Step) -> list[str]:
    """A step as the Python call expressions that BFCL's executor evaluates; empty for a message without calls."""
    if isinstance(step, str):
        return []
    calls: list[str] = convert_to_function_call(
        [{_harmless(name): given} for call in step for name, given in call.items()]
    )
    return calls


def _callable_here(name: str) -> bool:
    """Whether a bare name would resolve in the namespace in which BFCL's executor evaluates a call."""
    return hasattr(builtins, name) or name in vars(multi_turn_utils)


def _harmless(name: str) -> str:
    """A called name that is safe to evaluate: one that Python would resolve to something else is made unknown."""
    return f"tool_{name}" if _callable_here(name) else name


def _as_step(calls: Sequence[Call]) -> Step:
    """Calls as a step. The executor evaluates names as code, so a name or key that is no identifier becomes text."""
    words = [word for call in calls for word in (call.name, *call.arguments)]
    odd = [word for word in words if not word.isidentifier()]
    return f"no identifier: {odd[0]!r}" if odd else [{call.name: call.arguments} for call in calls]


class _Handler(base_handler.BaseHandler):  # type: ignore[misc, name-defined, unused-ignore]
    """BFCL's function-calling loop with every request sent to a ``HarnessPolicy``."""

    def __init__(self, speaker: HarnessPolicy) -> None:
        super().__init__(_unique(), temperature=0.0, registry_name="spadework", is_fc_model=True)
        self._speaker = speaker

    def decode_execute(self, result: Step, has_tool_call_tag: bool) -> list[str]:
        return decode(result)

    def _query_FC(self, inference_data: dict[str, Any]) -> tuple[HarnessReply, float]:
        return self._speaker.reply_in_thread(inference_data["message"], inference_data["tools"]), 0.0

    def _pre_query_processing_FC(self, inference_data: dict[str, Any], test_entry: Entry) -> dict[str, Any]:
        inference_data["message"] = []
        return inference_data

    def _compile_tools(self, inference_data: dict[str, Any], test_entry: Entry) -> dict[str, Any]:
        tools = convert_to_tool(test_entry["function"], GORILLA_TO_OPENAPI, ModelStyle.OPENAI_COMPLETIONS)
        inference_data["tools"] = tools
        return inference_data

    def _parse_query_response_FC(self, api_response: HarnessReply) -> dict[str, Any]:
        step = _as_step(api_response.calls) if api_response.calls else api_response.text
        return {"model_responses": step, "raw": api_response.raw, "input_token": 0, "output_token": 0}

    def add_first_turn_message_FC(self, inference_data: dict[str, Any], first_turn_message: Any) -> dict[str, Any]:
        inference_data["message"].extend(first_turn_message)
        return inference_data

    _add_next_turn_user_message_FC = add_first_turn_message_FC

    def _add_assistant_message_FC(self, inference_data: dict[str, Any], model_response_data: Any) -> dict[str, Any]:
        inference_data["message"].append({"role": "assistant", "content": model_response_data["raw"]})
        return inference_data

    def _add_execution_results_FC(
        self, inference_data: dict[str, Any], execution_results: list[str], model_response_data: Any
    ) -> dict[str, Any]:
        inference_data["message"].extend({"role": "tool", "content": result} for result in execution_results)
        return inference_data


def _unique() -> str:
    """A model name for one play. BFCL's executor keeps tool state in module globals named by the model's name."""
    return f"spadework{uuid.uuid4().hex}"


def _forget(name: str) -> None:
    """Delete the tool state that BFCL's executor kept under ``name``."""
    for key in [key for key in list(vars(multi_turn_utils)) if key.startswith(name)]:
        del vars(multi_turn_utils)[key]
