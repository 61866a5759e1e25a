// Does blocking file work (fsync, rename) off the Qt thread, one job after the other, and brings the outcome back to it.
#pragma once

#include "common/base/result.h"

#include <QObject>
#include <QThreadPool>

#include <functional>

namespace cortexfs {

class StateWriter : public QObject {
    Q_OBJECT
public:
    explicit StateWriter(QObject *parent = nullptr);
    // Waits for the jobs that were given; their outcomes are no longer delivered.
    ~StateWriter() override;

    // `job` runs on the worker thread, `done` on the Qt thread. Order is kept.
    void run(std::function<Result<void>()> job, std::function<void(Result<void>)> done);

private:
    QThreadPool m_pool;
};

} // namespace cortexfs
