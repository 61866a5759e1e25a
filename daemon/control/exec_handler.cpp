#include "daemon/control/exec_handler.h"

#include "common/base/limits.h"
#include "common/base/logging.h"
#include "daemon/models/run_id.h"
#include "daemon/sockets/program_names.h"

namespace cortexfs::control {

namespace {

constexpr std::string_view kModelClass = "model/";

// Longer than any name can be; what is said about an object that does not exist must fit into a frame.
constexpr std::size_t kObjectBytes = 256;
constexpr std::size_t kMessageBytes = 4096;

std::string joinedWords(const json::Value &argv)
{
    std::string out;
    bool isFirst = true;
    for (const json::Value &word : argv.elements()) {
        if (!isFirst)
            out += ' ';
        isFirst = false;
        out += word.stringOr("");
    }
    return out;
}

std::string objectPath(std::string_view text)
{
    if (text.starts_with('/'))
        text.remove_prefix(1);
    return clipped(text, kObjectBytes);
}

// The model's name as a run would say it: without the class.
std::string modelName(std::string_view object)
{
    if (object.starts_with(kModelClass))
        object.remove_prefix(kModelClass.size());
    return std::string(object);
}

// "P/M" of a link's target: its last two components. The mount point may have any name, so nothing before them counts.
std::string_view lastTwoComponents(std::string_view target)
{
    const std::size_t slash = target.rfind('/');
    if (slash == std::string_view::npos || slash == 0)
        return target;
    const std::size_t before = target.rfind('/', slash - 1);
    return before == std::string_view::npos ? target : target.substr(before + 1);
}

// "model/P/M" or "model/<alias>", as the runner and people name it.
const models::ModelEntry *findModel(const models::ModelCatalog &catalog, std::string_view object)
{
    if (!object.starts_with(kModelClass))
        return nullptr;
    std::string_view name = object.substr(kModelClass.size());
    if (const models::ModelAlias *alias = catalog.alias(name))
        name = lastTwoComponents(alias->target);
    const auto ref = abi::parseModelRef(name);
    return ref ? catalog.find(*ref) : nullptr;
}

} // namespace

Execution::Execution(const Request &request, const ExecServices &services, sockets::FrameSocket &client,
                     QObject *parent)
    : QObject(parent), m_services(services), m_client(&client), m_idJson(request.idJson),
      m_object(objectPath(request.text("object"))), m_isTty(request.body["tty"].asBool().value_or(false)),
      m_prefix("{\"id\":" + request.idJson + ",")
{
    m_caller.uid = request.peer.uid;
    m_caller.gid = request.peer.gid;
    m_caller.pid = request.peer.pid;
    m_caller.programNames = sockets::programNamesOf(request.peer.pid);
    m_input = joinedWords(request.body["argv"]);
    m_hasArgv = request.body["argv"].size() > 0;
    if (!m_hasArgv) {
        m_input = request.text("stdin");
        m_inputOpen = request.body["stdin_open"].asBool().value_or(false);
    }
    connect(&client, &sockets::FrameSocket::drained, this, &Execution::relieve);
}

Execution::~Execution() = default;

Result<void> Execution::check(const json::Value &body)
{
    const auto wrong = [](const char *key, const char *expected) {
        return errors::invalid(std::string(key) + ": not " + expected);
    };
    const json::Value argv = body["argv"];
    if (!body["object"].isString())
        return wrong("object", "a string");
    if (!argv.isMissing() && !argv.isNull() && !argv.isArray())
        return wrong("argv", "an array of strings");
    for (const json::Value &word : argv.elements()) {
        if (!word.isString())
            return wrong("argv", "an array of strings");
    }
    for (const char *key : {"stdin", "cwd"}) {
        if (!body[key].isMissing() && !body[key].isNull() && !body[key].isString())
            return wrong(key, "a string");
    }
    for (const char *key : {"stdin_open", "tty"}) {
        if (!body[key].isMissing() && !body[key].isBool())
            return wrong(key, "true or false");
    }
    return {};
}

void Execution::begin()
{
    if (!m_inputOpen)
        startRun();
}

void Execution::addInput(const json::Value &body)
{
    if (!m_inputOpen || m_isFinished)
        return;
    const json::Value data = body["data"];
    const json::Value eof = body["eof"];
    const bool isData = data.isMissing() || data.isNull() || data.isString();
    if (isData && (eof.isMissing() || eof.isBool()))
        return appendInput(data.stringOr(""), eof.asBool().value_or(false));
    m_inputOpen = false;
    fail(errors::invalid(isData ? "eof: not true or false" : "data: not a string"));
}

void Execution::appendInput(std::string_view data, bool isLast)
{
    if (m_input.size() + data.size() > limits::kStdin) {
        m_inputOpen = false;
        return fail(errors::tooLarge("the input has more than 16 MiB"));
    }
    m_input.append(data);
    if (isLast) {
        m_inputOpen = false;
        startRun();
    }
}

void Execution::startRun()
{
    if (m_isTty && !m_hasArgv && m_input.empty()) {
        json::Writer writer;
        writer.beginObject();
        writer.field("exit", kExitUsage);
        writer.field("usage", "usage: " + m_object + " TEXT...   or   ... | " + m_object
                                  + "\nstdin may also be a JSON object with \"messages\".");
        writer.endObject();
        m_isFinished = true;
        if (m_client)
            Responder(m_idJson, [this](std::string_view line, bool) {
                m_client->send(line);
            }).result(inside(writer.text()));
        Q_EMIT finished();
        return;
    }
    const auto snapshot = m_services.snapshot.load();
    const models::ModelEntry *entry = findModel(*snapshot->catalog, m_object);
    if (!entry)
        return fail(errors::notFound("no such object: " + logging::escapeControl(m_object)));
    Result<models::Conversation> conversation = models::parseInput(m_input);
    m_input = {};
    if (!conversation)
        return fail(conversation.error());

    models::RunRequest request;
    request.run = models::newRunId();
    request.model = entry->ref;
    request.purpose = abi::Purpose::Exec;
    request.conversation = std::move(*conversation);
    request.caller = m_caller;
    m_run = m_services.models.createRun(std::move(request));
    connect(m_run.get(), &models::ModelRun::eventReady, this, &Execution::handleEvent);
    connect(m_run.get(), &models::ModelRun::finished, this, [this] {
        finish(m_errorNumber == ECANCELED ? kExitInterrupted : exitCodeFor(m_errorNumber), m_errorText);
    });
    m_run->start();
}

void Execution::handleEvent(const abi::Event &event)
{
    if (m_isCut) {
        if (event.type == abi::EventType::Done) {
            writeEvent(abi::events::error(event.run, makeError(m_errorNumber, m_errorText)));
            writeEvent(abi::events::done(event.run, abi::RunStatus::Error));
        }
        return;
    }
    if (event.type == abi::EventType::Error && !event.recoverable) {
        m_errorNumber = event.code;
        m_errorText = event.errorMessage;
    }
    if (event.type == abi::EventType::Done && event.status == abi::RunStatus::Cancelled)
        m_errorNumber = ECANCELED;
    writeEvent(event);
}

void Execution::writeEvent(const abi::Event &event)
{
    if (!m_client)
        return;
    std::string line = m_prefix;
    const std::size_t brace = line.size();
    event.appendJson(line);
    line.erase(brace, 1); // the event's own '{': the id stands before its first key
    line += '\n';
    if (line.size() > limits::kFrame)
        return cutStream();
    m_client->send(line);
    if (m_run && !m_isPaused && m_client->unsent() > limits::kUnsent) {
        m_isPaused = true;
        m_run->setPaused(true);
    }
}

void Execution::cutStream()
{
    // The limits of texts are in bytes of text; quotes and control characters take up to six times as many in JSON.
    m_isCut = true;
    m_errorNumber = EMSGSIZE;
    m_errorText = "an event of the run is longer than a frame of 1 MiB";
    if (m_run) // from a turn of its own: we are inside its signal
        QMetaObject::invokeMethod(
            m_run.get(), [run = m_run.get()] { run->cancel(); }, Qt::QueuedConnection);
}

void Execution::relieve()
{
    if (!m_isPaused || !m_run)
        return;
    m_isPaused = false;
    m_run->setPaused(false);
}

void Execution::fail(const Error &error)
{
    const std::string run = models::newRunId();
    const Error said = makeError(error.number(), clipped(error.text(), kMessageBytes));
    writeEvent(abi::events::start(run, modelName(m_object)));
    writeEvent(abi::events::error(run, said));
    writeEvent(abi::events::done(run, abi::RunStatus::Error));
    finish(exitCodeFor(said.number()), said.text());
}

void Execution::finish(int exitCode, const std::string &diagnostic)
{
    if (m_isFinished)
        return;
    m_isFinished = true;
    if (m_client) {
        json::Writer writer;
        writer.beginObject().field("exit", exitCode);
        if (!diagnostic.empty())
            writer.field("diagnostic", diagnostic);
        writer.endObject();
        Responder(m_idJson, [this](std::string_view line, bool) {
            m_client->send(line);
        }).result(inside(writer.text()));
    }
    Q_EMIT finished();
}

void Execution::cancel()
{
    if (m_isFinished)
        return;
    if (m_run)
        return m_run->cancel();
    // Still waiting for its input: there is no run, but the sequence is the same.
    m_inputOpen = false;
    const std::string run = models::newRunId();
    writeEvent(abi::events::start(run, modelName(m_object)));
    writeEvent(abi::events::done(run, abi::RunStatus::Cancelled));
    finish(kExitInterrupted, {});
}

void Execution::abandon()
{
    if (!m_client)
        return;
    m_client->disconnect(this);
    m_client = nullptr;
    if (m_run && m_isPaused)
        m_run->setPaused(false);
    cancel();
}

} // namespace cortexfs::control
