"""Who is asked: one provider for each format, made from the presets that are shipped, and what its bodies look like."""

import json
import os
from dataclasses import dataclass
from typing import Callable
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Speaker:
    name: str  # of the provider
    preset: str  # of which it has all but the address
    format: str
    endpoint: str  # what the mock is asked for
    type: str  # the vendor's own type of a request body
    system: Callable  # the system prompt of a body
    effort: tuple  # where a body has these
    most_tokens: tuple
    is_plain: bool = False  # a server that is nobody we know

    def headers(self, key):
        """What must stand in the head of a request."""
        if self.format == "anthropic.messages":
            return {"content-type": "application/json", "x-api-key": key, "anthropic-version": "2023-06-01"}
        return {"content-type": "application/json", "authorization": f"Bearer {key}"}

    def config_named(self, name, presets, url):
        """The provider file, with the recorder at `url` in front of the mock instead of the vendor."""
        with open(os.path.join(presets, self.preset + ".json"), encoding="utf-8") as file:
            config = json.load(file)
        config["base_url"] = f"{url}/{name}{urlsplit(config['base_url']).path}"
        config["name"] = name
        config["formats"] = [self.format]
        if self.is_plain:
            config.update(default_model="custom-model", models=["custom-model"], model_capabilities={})
        return config


def said_by(role):
    def first_message(body):
        first = (body.get("messages") or [{}])[0]
        return first.get("content") if first.get("role") == role else None
    return first_message


def under(key):
    return lambda body: body.get(key)


CHAT = "OpenAI.Chat.ChatCompletionCreateParams"

SPEAKERS = [
    Speaker("openai", "openai", "openai.chat", "/v1/chat/completions", CHAT,
            said_by("developer"), ("reasoning_effort",), ("max_completion_tokens",)),
    Speaker("responses", "openai", "openai.responses", "/v1/responses", "OpenAI.Responses.ResponseCreateParams",
            under("instructions"), ("reasoning", "effort"), ("max_output_tokens",)),
    Speaker("anthropic", "anthropic", "anthropic.messages", "/v1/messages", "Anthropic.MessageCreateParams",
            under("system"), ("output_config", "effort"), ("max_tokens",)),
    Speaker("google", "google", "openai.chat", "/v1beta/openai/chat/completions", CHAT,
            said_by("system"), ("reasoning_effort",), ("max_tokens",)),
    Speaker("plain", "openai", "openai.chat", "/v1/chat/completions", CHAT,
            said_by("system"), ("reasoning_effort",), ("max_tokens",), is_plain=True),
]
