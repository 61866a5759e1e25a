#include "tests/wire/formats/vendor_reader.h"

#include "common/json/json.h"

#include <algorithm>
#include <map>

namespace cortexfs::test {

namespace {

using json::Value;

std::string text(const Value &value) { return std::string(value.stringOr("")); }

class Reader {
public:
    explicit Reader(const wire::WireRequest &request) : m_request(request) {}
    virtual ~Reader() = default;

    std::vector<std::string> read()
    {
        const auto body = json::parse(m_request.body);
        if (!body || !body->root().isObject())
            return {"!not a JSON object"};
        readBody(body->root());
        if (!m_open.empty())
            fault("a call without a result");
        return m_lines;
    }

protected:
    virtual void readBody(const Value &body) = 0;

    void line(const std::string &what, const std::string &value) { m_lines.push_back(what + " " + value); }
    void fault(const std::string &what) { m_lines.push_back("!" + what); }

    void call(const std::string &id, const std::string &name, const std::string &arguments)
    {
        if (id.empty() || m_numbers.contains(id))
            fault("bad call id " + id);
        m_numbers.emplace(id, m_numbers.size() + 1);
        m_open.push_back(id);
        const auto object = json::parse(arguments);
        if (!object || !object->root().isObject())
            return fault("arguments are no object: " + arguments);
        line("call #" + std::to_string(m_numbers[id]), own(name) + " " + object->root().toJson());
    }

    void result(const std::string &id, const std::string &said)
    {
        const auto it = std::find(m_open.begin(), m_open.end(), id);
        if (it == m_open.end())
            return fault("a result for no call");
        m_open.erase(it);
        line("result #" + std::to_string(m_numbers[id]), said);
    }

    void tool(const std::string &name, const Value &description, const Value &schema)
    {
        line("tool", own(name) + " " + text(description) + " " + schema.toJson());
    }

    void common(const Value &body, const char *limit)
    {
        if (const auto most = body[limit].asInt())
            line("max", std::to_string(*most));
        line("stream", body["stream"].toJson());
    }

    // What the caller calls that function.
    std::string own(const std::string &name)
    {
        const bool isAllowed = !name.empty() && name.size() <= 64
                               && name.find_first_not_of(
                                      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
                                      == std::string::npos;
        if (!isAllowed)
            fault("bad function name " + name);
        for (const auto &[wireName, ownName] : m_request.toolNames) {
            if (wireName == name)
                return ownName;
        }
        return name;
    }

    bool hasOpenCalls() const { return !m_open.empty(); }

private:
    const wire::WireRequest &m_request;
    std::vector<std::string> m_lines;
    std::map<std::string, std::size_t> m_numbers;
    std::vector<std::string> m_open; // calls that wait for their result
};

class ChatReader final : public Reader {
public:
    using Reader::Reader;

private:
    void readBody(const Value &body) override
    {
        for (const Value &message : body["messages"].elements())
            readMessage(message);
        for (const Value &value : body["tools"].elements()) {
            const Value function = value["function"];
            tool(text(function["name"]), function["description"], function["parameters"]);
        }
        if (const Value schema = body["response_format"]["json_schema"]["schema"]; schema.isObject())
            line("schema", schema.toJson());
        common(body, body["max_tokens"].isMissing() ? "max_completion_tokens" : "max_tokens");
    }

    void readMessage(const Value &message)
    {
        const std::string role = text(message["role"]);
        const Value content = message["content"];
        if (role == "tool")
            return result(text(message["tool_call_id"]), text(content));
        if (hasOpenCalls())
            fault("a message between a call and its result");
        if (role == "system" || role == "developer")
            return line("system", text(content));
        if (content.isString() && !text(content).empty())
            line(role, text(content));
        for (const Value &part : content.elements()) {
            if (text(part["type"]) == "image_url")
                line("image", text(part["image_url"]["url"]));
            else
                line(role, text(part["text"]));
        }
        for (const Value &value : message["tool_calls"].elements())
            call(text(value["id"]), text(value["function"]["name"]), text(value["function"]["arguments"]));
    }
};

class ResponsesReader final : public Reader {
public:
    using Reader::Reader;

private:
    void readBody(const Value &body) override
    {
        if (const std::string system = text(body["instructions"]); !system.empty())
            line("system", system);
        if (body["store"].asBool() != false)
            fault("keeps state on the server");
        for (const Value &item : body["input"].elements())
            readItem(item);
        for (const Value &value : body["tools"].elements()) {
            if (text(value["type"]) != "function" || value["strict"].asBool() != false)
                fault("a tool that is none");
            tool(text(value["name"]), value["description"], value["parameters"]);
        }
        if (const Value schema = body["text"]["format"]["schema"]; schema.isObject())
            line("schema", schema.toJson());
        common(body, "max_output_tokens");
    }

    void readItem(const Value &item)
    {
        const std::string type = text(item["type"]);
        if (type == "function_call")
            return call(text(item["call_id"]), text(item["name"]), text(item["arguments"]));
        if (type == "function_call_output")
            return result(text(item["call_id"]), text(item["output"]));
        if (type != "message")
            return fault("item " + type);
        if (hasOpenCalls())
            fault("a message between a call and its result");
        const std::string role = text(item["role"]);
        if (item["content"].isString())
            line(role, text(item["content"]));
        for (const Value &part : item["content"].elements()) {
            if (role == "assistant")
                fault("an assistant's text is no input");
            if (text(part["type"]) == "input_image")
                line("image", text(part["image_url"]));
            else if (text(part["type"]) == "input_text")
                line(role, text(part["text"]));
            else
                fault("part " + text(part["type"]));
        }
    }
};

class MessagesReader final : public Reader {
public:
    using Reader::Reader;

private:
    void readBody(const Value &body) override
    {
        if (const std::string system = text(body["system"]); !system.empty())
            line("system", system);
        if (!body["max_tokens"].asInt())
            fault("no max_tokens");
        for (const Value &message : body["messages"].elements())
            readMessage(message);
        for (const Value &value : body["tools"].elements()) {
            if (text(value["input_schema"]["type"]) != "object")
                fault("a schema without a type");
            tool(text(value["name"]), value["description"], value["input_schema"]);
        }
        if (const Value schema = body["output_config"]["format"]["schema"]; schema.isObject())
            line("schema", schema.toJson());
        common(body, "max_tokens");
    }

    void readMessage(const Value &message)
    {
        const std::string role = text(message["role"]);
        if (role == m_lastRole)
            fault("two messages of one role");
        m_lastRole = role;
        if (message["content"].size() == 0)
            fault("a message without content");
        bool hadOther = false;
        for (const Value &block : message["content"].elements()) {
            const std::string type = text(block["type"]);
            if (type == "tool_result" && hadOther)
                fault("a result behind other content");
            hadOther = hadOther || type != "tool_result";
            readBlock(role, type, block);
        }
    }

    void readBlock(const std::string &role, const std::string &type, const Value &block)
    {
        if (type == "tool_result")
            return result(text(block["tool_use_id"]), text(block["content"]));
        if (role == "user" && hasOpenCalls())
            fault("content before the result of a call");
        if (type == "text") {
            if (text(block["text"]).find_first_not_of(" \t\r\n") == std::string::npos)
                fault("a blank text block");
            return line(role, text(block["text"]));
        }
        if (type == "tool_use") {
            if (!block["input"].isObject())
                fault("input is no object");
            return call(text(block["id"]), text(block["name"]), block["input"].toJson());
        }
        if (type != "image")
            return fault("block " + type);
        const Value source = block["source"];
        if (text(source["type"]) == "url")
            line("image", text(source["url"]));
        else
            line("image", "data:" + text(source["media_type"]) + ";base64," + text(source["data"]));
    }

    std::string m_lastRole = "assistant"; // so that the first has to be the user's
};

} // namespace

std::vector<std::string> readBack(const std::string &format, const wire::WireRequest &request)
{
    if (format == "openai.chat")
        return ChatReader(request).read();
    if (format == "openai.responses")
        return ResponsesReader(request).read();
    if (format == "anthropic.messages")
        return MessagesReader(request).read();
    return {"!no reader for " + format};
}

} // namespace cortexfs::test
