"""Our tools as pydantic-ai's: the arguments and failures are the tool's own affair, the result goes by the notebook."""

from __future__ import annotations

from pydantic_ai import Tool as AgentTool
from pydantic_core import SchemaValidator, core_schema

from perplexity.agent.findings import read
from perplexity.agent.notebook import Notebook
from perplexity.agent.prompt import NO_CALLS
from perplexity.computing import computed
from perplexity.tools.base import Failure, Tool
from perplexity.types import JSON

_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))
_ASKED = ("query", "prompt")


def adapted(tool: Tool, notebook: Notebook, *, most: int) -> AgentTool[None]:
    """Return the tool for an agent; what it returns is noted, and given to the model with this run's numbers.

    After `most` calls in the run, of whichever tool, a call is not made, and the model is told to answer.
    """

    async def call(**arguments: JSON) -> str:
        if notebook.calls >= most:
            return Failure(NO_CALLS)
        notebook.calls += 1
        asked = next((arguments[name] for name in _ASKED if isinstance(arguments.get(name), str)), None)
        if asked is not None and asked not in notebook.queries:
            notebook.queries.append(asked)
        result = await tool.run(arguments)
        if isinstance(result, Failure):
            # It may quote an address that no tool returned; its cost counts.
            notebook.charge(result.cost_usd)
            return result
        return notebook.note(await computed(read, result))

    made: AgentTool[None] = AgentTool.from_schema(
        call, name=tool.name, description=tool.description, json_schema=dict(tool.parameters)
    )
    # By itself it takes a list for arguments, and breaks on it; with this the model is told.
    made.function_schema.validator = _OBJECT
    return made
