#include "common/json/json.h"
#include "daemon/providers/wire/wire_format.h"
#include "tests/wire/fixture.h"
#include "tests/wire/json_compare.h"

#include <QtTest>

using namespace cortexfs;
using namespace cortexfs::test;
using models::Conversation;
using models::Message;
using wire::EncodeContext;

namespace {

const wire::WireFormat &chat() { return *wire::findByFormat("openai.chat"); }

// The neutral conversation of the request fixtures.
Conversation canonical()
{
    const auto document = json::parse(readFixtureFile(fixturePath("requests/00-canonical.json")));
    const json::Value root = document->root();
    Conversation out;
    out.system = root["system"].stringOr("");
    out.maxTokens = root["max_output_tokens"].asInt();
    out.effort = abi::effortFromWord(root["effort"].stringOr(""));
    const json::Value schema = root["json_schema"];
    out.responseFormat = models::ResponseFormat{std::string(schema["name"].stringOr("")), schema["schema"].toJson(),
                                                true};
    for (const json::Value &tool : root["tools"].elements())
        out.tools.push_back({std::string(tool["name"].stringOr("")), std::string(tool["description"].stringOr("")),
                             tool["parameters"].toJson()});
    for (const json::Value &value : root["messages"].elements()) {
        Message message;
        const std::string_view role = value["role"].stringOr("");
        message.role = role == "user"   ? Message::Role::User
                       : role == "tool" ? Message::Role::Tool
                                        : Message::Role::Assistant;
        if (const auto text = value["content"].asString())
            message.parts.push_back({.text = std::string(*text)});
        for (const json::Value &part : value["content"].elements()) {
            if (part["type"].stringOr("") == "text")
                message.parts.push_back({.text = std::string(part["text"].stringOr(""))});
            else
                message.parts.push_back({.type = models::Part::Type::Image,
                                         .url = "data:" + std::string(part["media_type"].stringOr("")) + ";base64,"
                                                + std::string(part["data"].stringOr(""))});
        }
        for (const json::Value &call : value["tool_calls"].elements())
            message.toolCalls.push_back({std::string(call["id"].stringOr("")), std::string(call["name"].stringOr("")),
                                         call["arguments"].toJson()});
        message.callId = value["id"].stringOr("");
        message.isError = value["is_error"].asBool().value_or(false);
        out.messages.push_back(std::move(message));
    }
    return out;
}

Conversation asked(const std::string &text)
{
    Conversation out;
    Message message;
    message.parts.push_back({.text = text});
    out.messages.push_back(std::move(message));
    return out;
}

json::Document bodyOf(const Conversation &conversation, const EncodeContext &context)
{
    const auto request = chat().encode(conversation, context);
    if (!request)
        qFatal("%s", request.error().text().c_str());
    auto body = json::parse(request->body);
    if (!body)
        qFatal("not JSON: %s", request->body.c_str());
    return std::move(*body);
}

std::string member(const Conversation &conversation, const EncodeContext &context, std::string_view key)
{
    const json::Document body = bodyOf(conversation, context);
    return body.root()[key].isMissing() ? std::string() : body.root()[key].toJson();
}

} // namespace

class ChatEncoderTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void writesTheBodyOfTheFixture_data();
    void writesTheBodyOfTheFixture();
    void writesTheHead();
    void mapsEffort_data();
    void mapsEffort();
    void choosesRoleAndTokenField_data();
    void choosesRoleAndTokenField();
    void takesDefaults_data();
    void takesDefaults();
    void refusesReservedDefaults();
    void mapsNamesThatTheApiRefuses();
    void keepsTheOrderOfKeys();
    void mergesLeadingSystemMessages();
    void sendsOpaqueDataToItsProviderOnly();
    void refusesWhatItCannotCarry();
};

void ChatEncoderTest::writesTheBodyOfTheFixture_data()
{
    QTest::addColumn<QByteArray>("file");
    QTest::addColumn<QByteArray>("provider");
    QTest::addColumn<QByteArray>("baseUrl");
    QTest::addColumn<QByteArray>("opaque");
    QTest::newRow("OpenAI") << QByteArray("01-openai.chat.json") << QByteArray("openai")
                            << QByteArray("https://api.openai.com/v1") << QByteArray();
    QTest::newRow("Gemini")
        << QByteArray("05-gemini.openai.json") << QByteArray("google")
        << QByteArray("https://generativelanguage.googleapis.com/v1beta/openai")
        << QByteArray(
               R"({"format":"openai.chat","calls":{"call_1":{"extra_content":{"google":{"thought_signature":"EjQK"}}}}})");
    QTest::newRow("DeepSeek") << QByteArray("06-deepseek.json") << QByteArray("api.deepseek.com")
                              << QByteArray("https://api.deepseek.com")
                              << QByteArray(R"({"format":"openai.chat","reasoning_content":"Need a lookup."})");
    QTest::newRow("llama.cpp") << QByteArray("07-llamacpp.json") << QByteArray("local")
                               << QByteArray("http://127.0.0.1:8080/v1") << QByteArray();
}

void ChatEncoderTest::writesTheBodyOfTheFixture()
{
    QFETCH(QByteArray, file);
    QFETCH(QByteArray, provider);
    QFETCH(QByteArray, baseUrl);
    QFETCH(QByteArray, opaque);
    const auto fixture = json::parse(readFixtureFile(fixturePath("requests/" + file.toStdString())));
    QVERIFY(fixture);
    const json::Value expected = fixture->root()["body"];
    Conversation conversation = canonical();
    conversation.messages[1].opaque = opaque.toStdString();
    conversation.messages[1].opaqueProvider = provider.toStdString();
    if (expected["response_format"].isMissing())
        conversation.responseFormat.reset();
    // The text-only model of a fixture is asked without the image.
    if (expected["messages"].at(1)["content"].isString())
        conversation.messages[0].parts.resize(1);
    const EncodeContext context{.nativeModel = std::string(expected["model"].stringOr("")),
                                .provider = provider.toStdString(),
                                .baseUrl = baseUrl.toStdString()};
    const json::Document body = bodyOf(conversation, context);
    const std::string found = difference(expected, body.root());
    QVERIFY2(found.empty(), found.c_str());
}

void ChatEncoderTest::writesTheHead()
{
    const auto streamed = chat().encode(asked("x"), {.nativeModel = "m"});
    QVERIFY(streamed);
    QCOMPARE(streamed->path, std::string("/chat/completions"));
    QCOMPARE(streamed->auth.headerName, std::string("Authorization"));
    QCOMPARE(streamed->auth.prefix, std::string("Bearer "));
    QCOMPARE(streamed->headers,
             (std::vector<wire::Header>{{"Content-Type", "application/json"}, {"Accept", "text/event-stream"}}));
    const auto whole = chat().encode(asked("x"), {.nativeModel = "m", .stream = false});
    QVERIFY(whole);
    QCOMPARE(whole->headers[1].second, std::string("application/json"));
    QCOMPARE(whole->body, std::string(R"({"model":"m","stream":false,"messages":[{"role":"user","content":"x"}]})"));
}

void ChatEncoderTest::mapsEffort_data()
{
    QTest::addColumn<QByteArray>("baseUrl");
    QTest::addColumn<QByteArray>("model");
    QTest::addColumn<QByteArray>("expected"); // of none low medium high xhigh max, what the body has beside the rest
    const auto row = [](const char *name, const char *baseUrl, const char *model, const char *expected) {
        QTest::newRow(name) << QByteArray(baseUrl) << QByteArray(model) << QByteArray(expected);
    };
    const char *const openai = "https://api.openai.com/v1";
    row("OpenAI, a model that knows all", openai, "gpt-5.6", "none low medium high xhigh max");
    row("OpenAI, gpt-5", openai, "gpt-5", "minimal low medium high high high");
    row("OpenAI, o-series", openai, "o3-mini", "low low medium high high high");
    row("OpenAI, a model that does not reason", openai, "gpt-4o", "- - - - - -");
    row("Gemini Flash 2.5", "https://generativelanguage.googleapis.com/v1beta/openai", "gemini-2.5-flash",
        "none low medium high high high");
    row("Gemini 3", "https://generativelanguage.googleapis.com/v1beta/openai", "gemini-3-pro",
        "minimal low medium high high high");
    row("OpenRouter", "https://openrouter.ai/api/v1", "x/y",
        R"({"effort":"none"} {"effort":"low"} {"effort":"medium"} {"effort":"high"} {"effort":"xhigh"} {"effort":"max"})");
    row("DeepSeek", "https://api.deepseek.com", "deepseek-v4",
        R"({"type":"disabled"} {"type":"enabled"}low {"type":"enabled"}high {"type":"enabled"}high {"type":"enabled"}high {"type":"enabled"}max)");
    row("Kimi K3", "https://api.moonshot.ai/v1", "kimi-k3", "low low high high max max");
    row("Kimi K2.6", "https://api.moonshot.ai/v1", "kimi-k2.6",
        R"({"type":"disabled"} {"type":"enabled"} {"type":"enabled"} {"type":"enabled"} {"type":"enabled"} {"type":"enabled"})");
    row("GLM 5.3", "https://api.z.ai/api/paas/v4", "glm-5.3", "low low high high max max");
    row("GLM 4", "https://api.z.ai/api/paas/v4", "glm-4.6",
        R"({"type":"disabled"} {"type":"enabled"} {"type":"enabled"} {"type":"enabled"} {"type":"enabled"} {"type":"enabled"})");
    row("Qwen", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen3-max",
        "false true true true true true");
    row("any other server", "http://127.0.0.1:8080/v1", "local", "none low medium high xhigh max");
}

void ChatEncoderTest::mapsEffort()
{
    QFETCH(QByteArray, baseUrl);
    QFETCH(QByteArray, model);
    QFETCH(QByteArray, expected);
    EncodeContext context{.nativeModel = model.toStdString(), .provider = "p", .baseUrl = baseUrl.toStdString()};
    std::string words;
    for (const abi::Effort effort : {abi::Effort::None, abi::Effort::Low, abi::Effort::Medium, abi::Effort::High,
                                     abi::Effort::XHigh, abi::Effort::Max}) {
        context.effort = effort;
        std::string said;
        for (const char *key : {"thinking", "reasoning", "enable_thinking", "reasoning_effort"}) {
            std::string value = member(asked("x"), context, key);
            std::erase(value, std::string_view(key) == "reasoning_effort" ? '"' : '\0');
            said += value;
        }
        words += (words.empty() ? "" : " ") + (said.empty() ? "-" : said);
    }
    QCOMPARE(QByteArray::fromStdString(words), expected);
    context.effort = abi::Effort::Auto;
    QCOMPARE(member(asked("x"), context, "reasoning_effort"), std::string());
    QCOMPARE(member(asked("x"), context, "thinking"), std::string());
}

void ChatEncoderTest::choosesRoleAndTokenField_data()
{
    QTest::addColumn<QByteArray>("provider");
    QTest::addColumn<QByteArray>("model");
    QTest::addColumn<QByteArray>("role");
    QTest::addColumn<QByteArray>("field");
    const auto row = [](const char *name, const char *provider, const char *model, const char *role,
                        const char *field) {
        QTest::newRow(name) << QByteArray(provider) << QByteArray(model) << QByteArray(role) << QByteArray(field);
    };
    row("gpt-5.6 at OpenAI", "openai", "gpt-5.6-sol", "developer", "max_completion_tokens");
    row("o3 at OpenAI", "openai", "o3", "developer", "max_completion_tokens");
    row("gpt-4o at OpenAI", "openai", "gpt-4o", "system", "max_completion_tokens");
    row("gpt-5 behind a gateway", "gateway", "openai/gpt-5.1", "developer", "max_completion_tokens");
    row("gpt-oss on a local server", "local", "openai/gpt-oss-20b", "system", "max_tokens");
    row("an olmo", "local", "olmo-2", "system", "max_tokens");
    row("gemini", "google", "gemini-3-pro", "system", "max_tokens");
    row("any model", "local", "custom-model", "system", "max_tokens");
}

void ChatEncoderTest::choosesRoleAndTokenField()
{
    QFETCH(QByteArray, provider);
    QFETCH(QByteArray, model);
    QFETCH(QByteArray, role);
    QFETCH(QByteArray, field);
    Conversation conversation = asked("x");
    conversation.system = "s";
    conversation.maxTokens = 5;
    const json::Document body = bodyOf(conversation,
                                       {.nativeModel = model.toStdString(), .provider = provider.toStdString()});
    QCOMPARE(QByteArray::fromStdString(std::string(body.root()["messages"].at(0)["role"].stringOr(""))), role);
    QCOMPARE(body.root()[field.toStdString()].asInt().value_or(-1), 5);
    const std::string other = field == "max_tokens" ? "max_completion_tokens" : "max_tokens";
    QVERIFY(body.root()[other].isMissing());
}

void ChatEncoderTest::takesDefaults_data()
{
    QTest::addColumn<QByteArray>("key");
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<QByteArray>("field");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char *name, const char *key, const char *value, const char *field, const char *expected) {
        QTest::newRow(name) << QByteArray(key) << QByteArray(value) << QByteArray(field) << QByteArray(expected);
    };
    row("a number", "top_p", "0.9", "top_p", "0.9");
    row("a list", "stop", R"(["a","b"])", "stop", R"(["a","b"])");
    row("a word is a string", "stop", "END", "stop", R"("END")");
    row("true", "parallel", "true", "parallel", "true");
    row("an unknown key", "chat_template_kwargs", R"({"enable_thinking":false})", "chat_template_kwargs",
        R"({"enable_thinking":false})");
    row("text with quotes", "user", "a \"b\"", "user", R"("a \"b\"")");
    row("an empty value", "user", "", "user", R"("")");
    row("the token limit takes the server's name", "max_output_tokens", "7", "max_tokens", "7");
    row("the request wins", "temperature", "2", "temperature", "0.5");
    row("a choice among no tools is left out", "tool_choice", "required", "tool_choice", "");
}

void ChatEncoderTest::takesDefaults()
{
    QFETCH(QByteArray, key);
    QFETCH(QByteArray, value);
    QFETCH(QByteArray, field);
    QFETCH(QByteArray, expected);
    Conversation conversation = asked("x");
    conversation.temperature = 0.5;
    const EncodeContext context{
        .nativeModel = "m", .provider = "local", .defaults = {{key.toStdString(), value.toStdString()}}};
    QCOMPARE(QByteArray::fromStdString(member(conversation, context, field.toStdString())), expected);
}

void ChatEncoderTest::refusesReservedDefaults()
{
    for (const char *key : {"model", "messages", "stream", "stream_options", "tools", "n"}) {
        const auto request = chat().encode(asked("x"), {.nativeModel = "m", .defaults = {{key, "1"}}});
        QVERIFY(!request);
        QCOMPARE(request.error().number(), EINVAL);
    }
}

void ChatEncoderTest::mapsNamesThatTheApiRefuses()
{
    Conversation conversation = asked("x");
    const std::string longName = std::string(70, 'a') + ".b";
    for (const std::string &name : {std::string("fs_read"), std::string("fs.read"), std::string("fs+read"), longName})
        conversation.tools.push_back({name, "", ""});
    Message call;
    call.role = Message::Role::Assistant;
    call.toolCalls.push_back({"c1", "fs.read", ""});
    call.toolCalls.push_back({"c2", "gone.tool", "{}"});
    conversation.messages.push_back(call);
    const auto request = chat().encode(conversation, {.nativeModel = "m"});
    QVERIFY(request);
    const auto body = json::parse(request->body);
    QVERIFY(body);
    const json::Value tools = body->root()["tools"];
    QCOMPARE(std::string(tools.at(0)["function"]["name"].stringOr("")), std::string("fs_read"));
    QCOMPARE(std::string(tools.at(1)["function"]["name"].stringOr("")), std::string("fs_read_2"));
    QCOMPARE(std::string(tools.at(2)["function"]["name"].stringOr("")), std::string("fs_read_3"));
    QCOMPARE(tools.at(3)["function"]["name"].stringOr("").size(), std::size_t(64));
    const json::Value calls = body->root()["messages"].at(1)["tool_calls"];
    QCOMPARE(std::string(calls.at(0)["function"]["name"].stringOr("")), std::string("fs_read_2"));
    QCOMPARE(std::string(calls.at(0)["function"]["arguments"].stringOr("")), std::string("{}"));
    QCOMPARE(std::string(calls.at(1)["function"]["name"].stringOr("")), std::string("gone_tool"));

    Reply reply;
    reply.toolNames = request->toolNames;
    reply.body = sse(
        {R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"fs_read_2","arguments":"{}"}},)"
         R"({"index":1,"id":"b","function":{"name":"fs_read","arguments":"{}"}}]},"finish_reason":"tool_calls"}]})",
         "[DONE]"});
    const Decoded decoded = decode(reply);
    QCOMPARE(decoded.events.size(), std::size_t(2));
    QCOMPARE(decoded.events[0].name, std::string("fs.read"));
    QCOMPARE(decoded.events[1].name, std::string("fs_read"));
}

void ChatEncoderTest::keepsTheOrderOfKeys()
{
    Conversation conversation = asked("x");
    conversation.tools.push_back({"f", "", R"({"z":1,"a":{"y":1,"b":2}})"});
    conversation.responseFormat = models::ResponseFormat{"my format", R"({"q":1,"p":2})", false};
    Message call;
    call.role = Message::Role::Assistant;
    call.toolCalls.push_back({"c1", "f", R"({"z": 1, "a": 2})"});
    conversation.messages.push_back(call);
    const auto request = chat().encode(conversation, {.nativeModel = "m"});
    QVERIFY(request);
    QVERIFY(request->body.find(R"("parameters":{"z":1,"a":{"y":1,"b":2}})") != std::string::npos);
    QVERIFY(request->body.find(R"("arguments":"{\"z\": 1, \"a\": 2}")") != std::string::npos);
    QVERIFY(request->body.find(R"({"name":"my_format","schema":{"q":1,"p":2}})") != std::string::npos);
}

void ChatEncoderTest::mergesLeadingSystemMessages()
{
    Conversation conversation;
    conversation.system = "a";
    for (const auto &[role, text] :
         {std::pair{Message::Role::System, "b"}, {Message::Role::User, "c"}, {Message::Role::System, "d"}}) {
        Message message;
        message.role = role;
        message.parts.push_back({.text = text});
        conversation.messages.push_back(message);
    }
    QCOMPARE(
        member(conversation, {.nativeModel = "m"}, "messages"),
        std::string(
            R"([{"role":"system","content":"a\n\nb"},{"role":"user","content":"c"},{"role":"system","content":"d"}])"));
}

void ChatEncoderTest::sendsOpaqueDataToItsProviderOnly()
{
    Reply reply;
    reply.body = sse(
        {R"({"choices":[{"delta":{"reasoning_content":"hm","reasoning_details":[{"type":"reasoning.text","text":"h","index":0}]}}]})",
         R"({"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"m","index":0,"signature":"S"}],"content":"hi",)"
         R"("tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"T"}}}]},"finish_reason":"tool_calls"}]})"});
    const Decoded decoded = decode(reply);
    const auto message = std::find_if(decoded.events.begin(), decoded.events.end(),
                                      [](const abi::Event &event) { return event.type == abi::EventType::Message; });
    const auto call = std::find_if(decoded.events.begin(), decoded.events.end(),
                                   [](const abi::Event &event) { return event.type == abi::EventType::ToolCall; });
    QVERIFY(message != decoded.events.end() && call != decoded.events.end());
    QVERIFY(!message->opaque.empty());
    QVERIFY(call->opaque.empty());
    QVERIFY(message->toJson().find("SIG") == std::string::npos);

    Conversation conversation = asked("x");
    Message assistant;
    assistant.role = Message::Role::Assistant;
    assistant.parts.push_back({.text = "hi"});
    assistant.toolCalls.push_back({call->callId, "f", "{}"});
    assistant.opaque = message->opaque;
    assistant.opaqueProvider = "here";
    conversation.messages.push_back(assistant);

    const json::Document same = bodyOf(conversation, {.nativeModel = "m", .provider = "here"});
    const json::Value sent = same.root()["messages"].at(1);
    QCOMPARE(std::string(sent["reasoning_content"].stringOr("")), std::string("hm"));
    QCOMPARE(sent["reasoning_details"].toJson(),
             std::string(R"([{"type":"reasoning.text","text":"hm","index":0,"signature":"S"}])"));
    QCOMPARE(sent["tool_calls"].at(0)["extra_content"].toJson(),
             std::string(R"({"google":{"thought_signature":"T"}})"));

    const auto other = chat().encode(conversation, {.nativeModel = "m", .provider = "elsewhere"});
    QVERIFY(other);
    QVERIFY(other->body.find("hm") == std::string::npos && other->body.find("thought_signature") == std::string::npos);

    conversation.messages[1].opaque = R"({"format":"another","reasoning_content":"hm"})";
    const auto foreign = chat().encode(conversation, {.nativeModel = "m", .provider = "here"});
    QVERIFY(foreign);
    QVERIFY(foreign->body.find("hm") == std::string::npos);
}

void ChatEncoderTest::refusesWhatItCannotCarry()
{
    Conversation image = asked("x");
    image.messages[0].role = Message::Role::Assistant;
    image.messages[0].parts.push_back({.type = models::Part::Type::Image, .url = "https://x/y"});
    Conversation tool = asked("x");
    tool.tools.push_back({"f", "", "{broken"});
    Conversation format = asked("x");
    format.responseFormat = models::ResponseFormat{"n", "[]", false};
    for (const Conversation &conversation : {image, tool, format}) {
        const auto request = chat().encode(conversation, {.nativeModel = "m"});
        QVERIFY(!request);
        QCOMPARE(request.error().number(), EINVAL);
    }
}

QTEST_GUILESS_MAIN(ChatEncoderTest)
#include "chat_encoder_test.moc"
