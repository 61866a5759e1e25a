"""What is asked and what must come back. A case yields one sentence for everything that is not as it must be."""

import json

TOOLS = [
    {"name": "get_weather", "description": "The weather of a city",
     "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"enum": ["c", "f"]}},
                    "required": ["city"]}},
    {"name": "get_time", "description": "The time of a zone",
     "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}},
]
PIXEL = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==")
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
          "required": ["city", "degrees"], "additionalProperties": False}


def user(text):
    return {"role": "user", "content": text}


def asked(question, **more):
    return {"messages": [user(question)], **more}


class Scene:
    """One provider of a running daemon, and what the recorder has of it."""

    def __init__(self, daemon, recorder, speaker, provider, model):
        self._daemon = daemon
        self._recorder = recorder
        self.speaker = speaker
        self.provider = provider
        self._model = f"{provider}/{model}"

    def ask(self, question):
        return self._daemon.run(self._model, question)

    def bodies(self):
        return [json.loads(request.body) for request in self._recorder.requests(self.provider)]

    def body_with(self, text):
        """The last body that was sent with this text in it, as JSON; {} when there is none."""
        return next((body for body in reversed(self.bodies())
                     if text in json.dumps(body, ensure_ascii=False)), {})


def at(body, path):
    for key in path:
        body = body.get(key) if isinstance(body, dict) else None
    return body


def unlike(what, is_value, should):
    if is_value != should:
        yield f"{what} is {is_value!r}, not {should!r}"


def ended_well(run, text, reason="stop"):
    """A whole stream: start, deltas that are the message, usage, done ok."""
    kinds = [event["type"] for event in run.events]
    if run.exit_code != 0 or run.last_error() or not kinds:
        yield f"failed: {run}"
        return
    yield from unlike("the first event", kinds[0], "start")
    yield from unlike("the last event", kinds[-1], "done")
    yield from unlike("the text", run.text(), text)
    message = [part["text"] for event in run.of("message") for part in event["content"]]
    yield from unlike("the message", "".join(message), text)
    yield from unlike("the status", run.events[-1].get("status"), "ok")
    yield from unlike("the reason", run.events[-1].get("reason"), reason)


# ---- answers --------------------------------------------------------------------------------------------------------

def greets(scene):
    run = scene.ask("Greet me, 日本 🗾\n")
    yield from ended_well(run, "Hello, 日本語 and 👩‍🚀, naïve café.")
    usage = run.of("usage")
    counts = [(event["input_tokens"], event["output_tokens"]) for event in usage]
    yield from unlike("the usage", counts, [(11, 7)])
    yield from unlike("streaming", scene.body_with("Greet me, 日本 🗾").get("stream"), True)


def reasons(scene):
    run = scene.ask(asked("Think about it"))
    yield from ended_well(run, "The answer.")
    if scene.speaker.is_plain:
        return  # the mock lets only models think of which it knows that they do
    thought = "Step by step, 一歩ずつ."
    yield from unlike("the reasoning", "".join(event["text"] for event in run.of("reasoning_message")), thought)
    yield from unlike("its deltas", "".join(event["text"] for event in run.of("reasoning_delta")), thought)


def calls_tools(scene):
    """Two turns: the calls of the first come back with their results in the second."""
    question = user("How is the weather?")
    first = scene.ask({"messages": [question], "tools": TOOLS})
    yield from ended_well(first, "Let me look.", "tool_calls")
    calls = first.of("tool_call")
    yield from unlike("the calls", [(call["name"], call["arguments"]) for call in calls],
                      [("get_weather", {"city": "Zürich", "unit": "c"}), ("get_time", {"zone": "Europe/Zurich"})])
    if len(calls) != 2:
        return
    back = [{key: call[key] for key in ("call_id", "name", "arguments")} for call in calls]
    second = scene.ask({"messages": [
        question, {"role": "assistant", "content": "Let me look.", "tool_calls": back},
        {"role": "tool", "call_id": calls[0]["call_id"], "content": "21 °C"},
        {"role": "tool", "call_id": calls[1]["call_id"], "content": "14:30 ✓"}], "tools": TOOLS})
    yield from ended_well(second, "21 °C at half past two.")
    sent = json.dumps(scene.body_with("14:30 ✓"), ensure_ascii=False)
    for call in calls:
        if sent.count(json.dumps(call["call_id"])) != 2:
            yield f"{call['call_id']} is not with both the call and its result in {sent}"


def sends_images(scene):
    run = scene.ask({"messages": [{"role": "user", "content": [
        {"type": "text", "text": "What is in the picture?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PIXEL}},
        {"type": "image_url", "image_url": {"url": "https://pictures.test/a.png", "detail": "low"}}]}]})
    yield from ended_well(run, "One red pixel.")
    sent = json.dumps(scene.body_with("What is in the picture?"))
    for image in (PIXEL, "https://pictures.test/a.png"):
        if image not in sent:
            yield f"{image} was not sent: {sent}"


def answers_with_data(scene):
    run = scene.ask(asked("As data, please", response_format={
        "type": "json_schema", "json_schema": {"name": "weather", "schema": SCHEMA, "strict": True}}))
    yield from ended_well(run, '{"city":"Zürich","degrees":21}')
    if json.dumps(SCHEMA, sort_keys=True) not in json.dumps(scene.body_with("As data, please"), sort_keys=True):
        yield f"the schema was not sent: {scene.body_with('As data, please')}"


def follows_the_system_prompt(scene):
    """The mock hears it where it is said in the old way; a model that thinks gets it from a developer."""
    run = scene.ask(asked("Who are you?", system="You are a lighthouse."))
    yield from ended_well(run, "A lighthouse.")
    yield from unlike("the system prompt", scene.speaker.system(scene.body_with("Who are you?")),
                      "You are a lighthouse.")


def passes_effort_and_limit(scene):
    run = scene.ask(asked("Greet me, 日本, briefly", effort="high", max_tokens=3000))
    yield from ended_well(run, "Hello, 日本語 and 👩‍🚀, naïve café.")
    body = scene.body_with("briefly")
    yield from unlike("the effort", at(body, scene.speaker.effort), "high")
    yield from unlike("the limit", at(body, scene.speaker.most_tokens), 3000)


ANSWERS = [greets, reasons, calls_tools, sends_images, answers_with_data, follows_the_system_prompt,
           passes_effort_and_limit]


# ---- failures -------------------------------------------------------------------------------------------------------

# Name, question, and the codes that the run may end with.
FAILURES = [
    ("denied", "Greet me, 日本", {"EACCES"}),
    ("limited", "Fail with 429", {"EAGAIN"}),
    ("overloaded", "Fail with 503", {"EHOSTDOWN"}),
    ("gone", "Fail by hanging up", {"ECONNRESET"}),
    ("cut", "Fail in the middle", {"ECONNRESET"}),
    ("nonsense", "Fail with nonsense", {"EBADMSG", "EIO"}),
]


def fails(scene, question, codes):
    run = scene.ask(question)
    if run.last_error() not in codes:
        yield f"the error is {run.last_error()}, not {' or '.join(sorted(codes))}: {run}"
    done = [event.get("status") for event in run.of("done")]
    yield from unlike("done", done, ["error"])
    if run.exit_code == 0:
        yield "exit 0"
    if not scene.bodies():
        yield "nothing was asked"
