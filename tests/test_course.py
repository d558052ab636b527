"""The course for a teacher uses every lesson once; its links, minutes and exercises are right."""

from __future__ import annotations

import re

import pytest

from course import EXAMPLES, PAGES, text_of
from separatrix.studio.lessons import LESSONS

TEXT = (EXAMPLES.parent / "docs" / "course.md").read_text(encoding="utf-8")
SESSIONS = re.findall(r"^## (\d+)\. (.+)\n((?:(?!## ).*\n?)*)", TEXT, re.M)


def field(session: str, name: str) -> str:
    found = re.search(rf"^:{name}: (.+)$", session, re.M)
    assert found, f"{name} is missing"
    return found[1]


def test_twelve_sessions_use_every_lesson_once():
    assert [int(number) for number, _, _ in SESSIONS] == list(range(1, 13))
    links = [
        re.findall(r"\[(\d+)\. (.+?)\]\(\.\./examples/(\w+)\.py\)", field(session, "Lessons"))
        for _, _, session in SESSIONS
    ]
    assert sorted(stem for session in links for _, _, stem in session) == PAGES
    for number, title, stem in [link for session in links for link in session]:
        text = (EXAMPLES / f"{stem}.py").read_text(encoding="utf-8")
        assert title == text.splitlines()[1] and int(number) == int(stem[:2])
    # The table of contents has the same titles and lessons.
    for (number, title, _), session in zip(SESSIONS, links, strict=True):
        lessons = ", ".join(number for number, _, _ in session)
        assert f"\n| {number}. {title} | {lessons} |" in TEXT


def test_the_studio_opens_what_a_session_shows():
    known = {path: one["name"] for path, one in zip(PAGES, LESSONS, strict=True)}
    for _, _, session in SESSIONS:
        stems = re.findall(r"examples/(\w+)\.py", field(session, "Lessons"))
        shown = re.findall(r"`separatrix studio --lesson (\w+)`", field(session, "Studio"))
        assert shown == [known[stem] for stem in stems]


@pytest.mark.parametrize(("number", "title", "session"), SESSIONS, ids=lambda text: text[:20])
def test_a_session_is_whole(number, title, session):
    minutes = [int(one) for one in re.findall(r"^\| (\d+) \|", session, re.M)]
    assert sum(minutes) == 90
    assert field(session, "Aims") and field(session, "Needs")
    assert "**Common misunderstandings.** *" in session
    # A session needs only what came before it.
    for needed in re.findall(r"Sessions? ([\d and]+)\.", field(session, "Needs")):
        assert all(int(one) < int(number) for one in re.findall(r"\d+", needed))
    # Every exercise that it names is there.
    own = {int(stem[:2]): stem for stem in re.findall(r"examples/(\w+)\.py", session)}
    for name in ("Exercises", "Homework"):
        for lesson, rest in re.findall(r"[Ll]esson (\d+), exercises? ([\d, and]+)", session):
            text = text_of((EXAMPLES / f"{own[int(lesson)]}.py").read_text(encoding="utf-8"))
            asked = text.split(".. admonition:: Exercise")[1].split(".. admonition:: Solution")[0]
            for one in re.findall(r"\d+", rest):
                assert f"\n   {one}. " in asked, f"{name}: lesson {lesson} has no exercise {one}"
