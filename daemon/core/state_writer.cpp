#include "daemon/core/state_writer.h"

namespace cortexfs {

StateWriter::StateWriter(QObject *parent) : QObject(parent) { m_pool.setMaxThreadCount(1); }

StateWriter::~StateWriter() { m_pool.waitForDone(); }

void StateWriter::run(std::function<Result<void>()> job, std::function<void(Result<void>)> done)
{
    m_pool.start([this, job = std::move(job), done = std::move(done)] {
        Result<void> outcome = job();
        // With `this` as the context the answer is dropped when the writer is gone.
        QMetaObject::invokeMethod(
            this, [outcome = std::move(outcome), done] { done(outcome); }, Qt::QueuedConnection);
    });
}

} // namespace cortexfs
