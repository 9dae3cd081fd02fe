"""A question with files: its answer's first line says what became of them, and where they went."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from pydantic import SecretStr

from bot.model.question import SharedFile
from bot.settings import Settings
from bot.slack.files import MAX_BYTES, is_slack, media_type
from bot.slack.scopes import SCOPES
from bot.worker.files import MEMORY, FileMemory, named
from fake_slack.web_api import DOWNLOAD, Arguments, WebApi
from tests.driver import Driver
from tests.fakes.answers import completed
from tests.fakes.openrouter import KEY, FakeOpenRouter
from tests.fakes.perplexity import json_reply
from tests.fakes.slack import Fault
from tests.fakes.workspaces import many_workspaces
from tests.rare import one_in

PNG = b"\x89PNG\r\n\x1a\n" + b"image"
PDF = b"%PDF-1.7 pages"
ALLOWED = "INSERT INTO workspace_settings (team_id, settings) VALUES ('T1', '{\"files\": true}')"


@pytest.fixture
async def openrouter() -> AsyncIterator[FakeOpenRouter]:
    async with FakeOpenRouter() as service:
        yield service


@pytest.fixture
def settings(settings: Settings, openrouter: FakeOpenRouter) -> Settings:
    """Return settings with a second service, which takes no files."""
    changes = {"openrouter_api_key": SecretStr(KEY), "openrouter_base_url": openrouter.base_url}
    return settings.model_copy(update=changes)


def first_line(message: dict[str, Any]) -> str:
    text: str = message["blocks"][0]["elements"][0]["text"]
    assert message["text"].replace("\u2060", "").startswith(text.replace("`", ""))
    return text


def script(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", json_reply(completed("It is [1].")))


async def asked(harness: Driver, *files: dict[str, Any], allowed: bool = True, text: str = "what is it") -> str:
    """Mention the app with files, and return the first line of the answer."""
    if allowed:
        await harness.execute(ALLOWED)
    script(harness)
    return first_line(await harness.answered_mention(text, files=list(files), subtype="file_share"))


def sent_parts(harness: Driver) -> Sequence[Any]:
    """Return the content of the last message that was sent to the search service."""
    content = harness.perplexity.requests[-1].json["input"][-1]["content"]
    return content if isinstance(content, list) else []


def encoded(data: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


async def test_without_permission_nothing_is_read_and_the_first_line_says_so(harness: Driver) -> None:
    files = [harness.slack.share("report.pdf", PDF), {"id": "F2", "name": "a <b> & c.png"}]

    assert await asked(harness, *files, allowed=False) == (
        "I didn’t read report.pdf and a &lt;b&gt; &amp; c.png: files are not allowed here. An admin can allow them in "
        "my settings."
    )
    assert sent_parts(harness) == []
    assert not [name for name, _ in harness.slack.calls if name == "files.info"]


async def test_a_channel_can_forbid_what_the_workspace_allows(harness: Driver) -> None:
    statement = (
        "INSERT INTO channel_settings (team_id, channel_id, settings, user_id)"
        " VALUES ('T1', 'C1', '{\"files\": false}', 'U1')"
    )
    await harness.execute(statement)

    assert "not allowed here" in await asked(harness, harness.slack.share("report.pdf", PDF))
    assert harness.slack.downloads == []


async def test_images_and_pdfs_are_sent_with_the_question(harness: Driver) -> None:
    files = [harness.slack.share("chart.png", PNG), harness.slack.share("report.pdf", PDF)]

    assert await asked(harness, *files) == "I read chart.png and report.pdf."
    text, image, pdf = sent_parts(harness)
    assert text == {"type": "input_text", "text": "what is it"}
    assert image == {"type": "input_image", "image_url": encoded(PNG, "image/png")}
    assert pdf == {"type": "input_file", "filename": "file-2.pdf", "file_data": encoded(PDF, "application/pdf")}


async def test_a_direct_message_with_a_file_sends_it_too(harness: Driver) -> None:
    await harness.execute(ALLOWED)
    script(harness)
    ts = "1795255200.000200"
    await harness.send_direct_message("what is it", ts=ts, files=[harness.slack.share("a.png", PNG)])
    await harness.settle()

    assert first_line(harness.last_in("DU1", ts)) == "I read a.png."
    assert len(sent_parts(harness)) == 2


async def test_a_file_without_a_question_is_not_ignored_in_silence(harness: Driver) -> None:
    await harness.send_direct_message("", ts="1795255200.000200", files=[harness.slack.share("a.png", PNG)])
    await harness.slack.wait_for_text("Please send both in one message.")

    assert await harness.rows("SELECT count(*) FROM questions") == [(0,)]


@pytest.mark.settings(perplexity_api="sonar")
async def test_the_older_api_takes_no_files(harness: Driver) -> None:
    await harness.execute(ALLOWED)
    answer = await harness.answered_mention("what is it", files=[harness.slack.share("a.png", PNG)])

    assert first_line(answer) == "This answer was made without a.png: Perplexity takes no files."


async def test_what_was_sent_names_the_file_and_nothing_keeps_its_contents(harness: Driver) -> None:
    await asked(harness, harness.slack.share("report.pdf", PDF))

    assert await harness.rows("SELECT jsonb_array_length(files), files -> 0 ->> 'name' FROM questions") == [
        (1, "report.pdf")
    ]
    [(kept,)] = await harness.rows(
        "SELECT concat((SELECT string_agg(q::text, '') FROM questions q),"
        " (SELECT string_agg(s::text, '') FROM sent_requests s))"
    )
    assert f"(application/pdf, {len(PDF)} bytes)" in kept
    assert base64.b64encode(PDF).decode() not in kept


async def test_a_command_by_mention_takes_no_files(harness: Driver) -> None:
    await harness.execute(ALLOWED)
    harness.script_pages(2)
    files = [harness.slack.share("report.pdf", PDF)]
    answer = await harness.answered_mention("search what is it", files=files)

    assert "only a question to the search service takes files" in first_line(answer)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"MZ not an image", "I left out a.png: I read images and PDFs only."),
        (b"<html>", "I left out a.png: I read images and PDFs only."),
        (PNG + bytes(MAX_BYTES), "I left out a.png: all files together may have 20 MB."),
    ],
)
async def test_content_decides_what_a_file_is(harness: Driver, content: bytes, expected: str) -> None:
    assert await asked(harness, harness.slack.share("a.png", content)) == expected
    assert sent_parts(harness) == []


async def test_a_file_that_outgrows_the_limit_while_it_is_read_is_left_out(harness: Driver) -> None:
    async def info(api: WebApi, arguments: Arguments) -> dict[str, Any]:
        return {
            "file": {"id": file["id"], "name": "a.png", "size": 1, "url_private": f"{api.origin}{DOWNLOAD}{file['id']}"}
        }

    file = harness.slack.share("a.png", PNG + bytes(MAX_BYTES - len(PNG) + 1))
    harness.slack.methods["files.info"], harness.slack.unmeasured = info, True

    assert await asked(harness, file) == "I left out a.png: all files together may have 20 MB."
    assert sent_parts(harness) == []


async def test_each_workspaces_files_are_read_with_its_own_token(database: str) -> None:
    async with many_workspaces(database) as app:
        files = {}
        for team in ("T1", "T2"):
            await app.install(team)
            await app.execute(
                "INSERT INTO workspace_settings (team_id, settings) VALUES (%s, '{\"files\": true}')", team
            )
            files[team] = app.slack.share(f"{team}.png", PNG)
        for team, file in files.items():
            async with await app.person(team).mention("what is it", files=[file], subtype="file_share") as response:
                assert response.status == 200
        await app.wait_for_rows("SELECT count(*) FROM questions WHERE state = 'answered'", [(2,)])

    assert sorted(app.slack.downloaded) == [(team, file["id"]) for team, file in files.items()]


REFUSED = "I couldn’t read a.png: Slack didn’t give me the file."


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=302, headers={"Location": "https://attacker.example/"}),
        Fault(status=401),
        Fault(status=404),
        Fault(status=200, body="<html>Sign in</html>", headers={"Content-Type": "text/html"}),
        Fault(status=500),
    ],
)
async def test_a_download_that_is_no_file_is_refused(harness: Driver, fault: Fault) -> None:
    harness.slack.fail("download", fault)

    assert await asked(harness, harness.slack.share("a.png", PNG)) == REFUSED


async def test_a_file_that_is_gone_is_refused(harness: Driver) -> None:
    assert await asked(harness, {"id": "F0GONE", "name": "a.png"}) == REFUSED


async def test_another_workspaces_file_has_a_name_only_in_slack(harness: Driver) -> None:
    file = harness.slack.share("secret plan.png", PNG)

    assert await asked(harness, {"id": file["id"], "mode": "file_access", "file_access": "check_file_info"}) == (
        "I read secret plan.png."
    )


async def test_without_the_scope_the_line_names_it(harness: Driver) -> None:
    harness.slack.workspace.scopes = [scope.name for scope in SCOPES if scope.name != "files:read"]

    assert await asked(harness, harness.slack.share("a.png", PNG)) == (
        "I couldn’t read a.png: I need the scope `files:read`, which an admin can give me."
    )


async def test_of_six_files_five_are_read(harness: Driver) -> None:
    files = [harness.slack.share(f"{number}.png", PNG) for number in range(6)]

    assert await asked(harness, *files) == (
        "I read 0.png, 1.png, 2.png, 3.png and 4.png. I read at most 5 files, so I left out 5.png."
    )


async def test_files_have_their_limit_together(harness: Driver) -> None:
    half = PNG + bytes(MAX_BYTES // 2)
    files = [harness.slack.share(name, half) for name in ("a.png", "b.png")]

    assert await asked(harness, *files) == "I read a.png. I left out b.png: all files together may have 20 MB."


async def test_a_stand_in_that_takes_no_files_says_so(harness: Driver) -> None:
    await harness.execute(ALLOWED)
    harness.perplexity.fail("/v1/agent", status=400, body={"error": {"message": "the file cannot be read"}})
    answer = await harness.answered_mention("what is it", files=[harness.slack.share("a.png", PNG)])

    assert first_line(answer) == "This answer was made without a.png: OpenRouter takes no files."


@pytest.mark.parametrize(
    "url",
    ["http://files.slack.com/a.png", "https://files.slack.com.attacker.example/a", "https://docs.google.com/a", "x:["],
)
async def test_only_slacks_own_hosts_are_asked(harness: Driver, url: str) -> None:
    async def info(_: WebApi, arguments: Arguments) -> dict[str, Any]:
        return {"file": {"id": arguments["file"], "name": "a.png", "url_private": url}}

    harness.slack.methods["files.info"] = info

    assert await asked(harness, {"id": "F1", "name": "a.png"}) == REFUSED


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://files.slack.com/files-pri/T1-F1/a.png", True),
        ("https://files.slack-gov.com/files-pri/T1-F1/a.png", True),
        ("http://files.slack.com/files-pri/T1-F1/a.png", False),
        ("https://files.slack.com:444/a.png", False),
        ("https://x@files.slack.com/a.png", False),
        ("https://slack.com/a.png", False),
        ("http://127.0.0.1/a.png", False),
        ("", False),
    ],
)
def test_which_addresses_are_slacks(url: str, expected: bool) -> None:
    assert is_slack(url, api_url="https://slack.com/api/") is expected


async def test_questions_wait_for_the_memory_of_files() -> None:
    memory, order = FileMemory(left=MAX_BYTES), list[str]()

    async def use(name: str) -> None:
        await memory.take(MAX_BYTES)
        order.append(f"{name} begins")
        await asyncio.sleep(0)
        order.append(f"{name} ends")
        await memory.give_back(MAX_BYTES)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(use(name)) for name in "abc"]
        await asyncio.sleep(0)
        tasks[1].cancel()

    assert order == ["a begins", "a ends", "c begins", "c ends"]
    assert memory.left == MAX_BYTES


@pytest.mark.parametrize("fault", one_in(2, [None, Fault(status=401)]))
async def test_memory_is_given_back_after_each_question(harness: Driver, fault: Fault | None) -> None:
    """More questions than fit at once are answered one after the other."""
    await harness.execute(ALLOWED)
    file = harness.slack.share("a.png", PNG + bytes(MAX_BYTES - len(PNG)))
    for number in range(2 * MEMORY // MAX_BYTES):
        script(harness)
        if fault is not None:
            harness.slack.fail("download", fault)
        answer = await harness.answered_mention("what is it", ts=f"179525520{number}.000100", files=[file])
        assert first_line(answer) == (REFUSED if fault else "I read a.png.")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (PNG, "image/png"),
        (PDF, "application/pdf"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF1234WEBPVP8", "image/webp"),
        (b"RIFF1234WAVE", ""),
        (b"<svg", ""),
        (b"", ""),
    ],
)
def test_media_types(data: bytes, expected: str) -> None:
    assert media_type(data) == expected


def test_many_names_are_shortened() -> None:
    files = [SharedFile(id=f"F{number}", name=name) for number, name in enumerate(["a\nb", "x" * 90, "", *"cdefg"])]

    assert named(files) == f"a b, {'x' * 58} …, a file, c, d and 3 more"


async def test_the_same_question_again_has_the_same_files(harness: Driver) -> None:
    await asked(harness, harness.slack.share("a.png", PNG))
    script(harness)
    await harness.click(harness.last_in("C1", "1795255200.000100"), "more", "regenerate")
    await harness.settle()

    assert len(harness.slack.downloads) == 2
    assert len(sent_parts(harness)) == 2


@pytest.mark.parametrize("files", [None, "x", [None], [{"id": 1}], [{"name": "no id"}], [{"id": "../x"}]])
async def test_an_answer_without_files_has_no_such_line(harness: Driver, files: object) -> None:
    harness.script_answer("It is [1].")
    answer = await harness.answered_mention("what is it", files=files)

    assert answer["blocks"][0]["type"] != "context"
