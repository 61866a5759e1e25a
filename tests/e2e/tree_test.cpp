// The tree as ordinary programs see it.
#include "tests/e2e/daemon_process.h"

#include <QDir>
#include <QTest>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::e2e;

class TreeTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { m_daemon = std::make_unique<DaemonProcess>(); }
    void cleanup() { m_daemon.reset(); }

    void ordinaryToolsWalkTheTreeWithoutAnError_data()
    {
        QTest::addColumn<QString>("command");
        for (const char *command : {"find .", "find . -type f -exec cat {} + > /dev/null", "ls -lR .",
                                    "getfattr -d -R . > /dev/null", "tar cf /dev/null .", "grep -rs state .",
                                    "cp -a . ../copy", "rsync -aX ./ ../mirror", "du -s .", "df ."}) {
            QTest::newRow(command) << QString::fromUtf8(command);
        }
    }
    void ordinaryToolsWalkTheTreeWithoutAnError()
    {
        QFETCH(QString, command);
        m_daemon->writeProvider(
            QStringLiteral("a.json"),
            "{\"name\":\"local\",\"base_url\":\"http://127.0.0.1:9/v1\",\"models\":[\"m1\",\"m2\"]}");
        QVERIFY2(m_daemon->start(), m_daemon->log().c_str());
        const Outcome outcome = shell(QStringLiteral("cd '%1' && %2").arg(m_daemon->mount(), command));
        QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
        QCOMPARE(outcome.err, std::string());
    }

    void rootHasExactlyItsEntries()
    {
        QVERIFY2(m_daemon->start(), m_daemon->log().c_str());
        const QStringList names =
            QDir(m_daemon->mount()).entryList(QDir::AllEntries | QDir::NoDotAndDotDot | QDir::Hidden);
        QCOMPARE(QSet<QString>(names.begin(), names.end()),
                 (QSet<QString>{QStringLiteral("status"), QStringLiteral("bin"), QStringLiteral("model"),
                                QStringLiteral("agent"), QStringLiteral("tool"), QStringLiteral("home"),
                                QStringLiteral("shared")}));
        QVERIFY(!QFile::exists(m_daemon->path("provider")));
    }

    void controlsAreCheckedAndSurviveARestart()
    {
        QVERIFY2(m_daemon->start(), m_daemon->log().c_str());
        const QString effort = m_daemon->path("model/debug/echo.d/effort");
        QCOMPARE(slurp(effort).value_or(""), std::string("auto\n"));
        QCOMPARE(putText(effort, "high\n"), 0);
        QCOMPARE(slurp(effort).value_or(""), std::string("high\n"));
        QCOMPARE(putText(effort, "sideways\n"), EINVAL);
        QCOMPARE(slurp(effort).value_or(""), std::string("high\n"));
        const Outcome fromShell = shell(QStringLiteral("printf nonsense > '%1'").arg(effort));
        QVERIFY(fromShell.exitCode != 0);
        const QString fallback = m_daemon->path("model/debug/echo.d/fallback");
        QCOMPARE(putText(fallback, "debug/script\n"), 0);
        QCOMPARE(shell(QStringLiteral("echo debug/echo >> '%1'").arg(fallback)).exitCode, 0);
        QCOMPARE(slurp(fallback).value_or(""), std::string("debug/script\ndebug/echo\n"));
        QCOMPARE(putText(fallback, "no slash\n"), EINVAL);
        QCOMPARE(putText(m_daemon->path("model/debug/echo.d/default"), std::string(65 * 1024, 'x')), EMSGSIZE);
        QCOMPARE(shell(QStringLiteral("cd '%1' && printf 'max_tokens=5\\n' > default.new && mv default.new default")
                           .arg(m_daemon->path("model/debug/echo.d")))
                     .exitCode,
                 0);
        QCOMPARE(m_daemon->stop(), 0);
        QVERIFY2(m_daemon->start(), m_daemon->log().c_str());
        QCOMPARE(slurp(effort).value_or(""), std::string("high\n"));
        QCOMPARE(slurp(fallback).value_or(""), std::string("debug/script\ndebug/echo\n"));
        QCOMPARE(slurp(m_daemon->path("model/debug/echo.d/default")).value_or(""), std::string("max_tokens=5\n"));
    }

    void limitIsReadOnlyForRootToo()
    {
        QVERIFY2(m_daemon->start(), m_daemon->log().c_str());
        const QByteArray limit = m_daemon->path("model/debug/echo.d/limit").toLocal8Bit();
        QCOMPARE(putText(QString::fromLocal8Bit(limit), "5\n"), EROFS);
        QCOMPARE(::unlink(limit.constData()) == 0 ? 0 : errno, EROFS);
        QCOMPARE(::chmod(limit.constData(), 0666) == 0 ? 0 : errno, EROFS);
        QCOMPARE(::rename(limit.constData(), (limit + "2").constData()) == 0 ? 0 : errno, EROFS);
        QCOMPARE(slurp(QString::fromLocal8Bit(limit)).value_or(""), std::string("unknown\n"));
    }

    void aliasesFollowTheUser()
    {
        QVERIFY2(m_daemon->start(), m_daemon->log().c_str());
        const QString main = m_daemon->path("model/main");
        const QString script = m_daemon->path("model/debug/script");
        QCOMPARE(shell(QStringLiteral("ln -sfn '%1' '%2'").arg(script, main)).exitCode, 0);
        QCOMPARE(shell(QStringLiteral("readlink '%1'").arg(main)).out, script.toStdString() + "\n");
        QVERIFY(shell(QStringLiteral("ln -sfn /etc/passwd '%1'").arg(main)).exitCode != 0);
        QCOMPARE(shell(QStringLiteral("readlink '%1'").arg(main)).out, script.toStdString() + "\n");
        QCOMPARE(m_daemon->stop(), 0);
        QVERIFY2(m_daemon->start(), m_daemon->log().c_str());
        QCOMPARE(shell(QStringLiteral("readlink '%1'").arg(main)).out, script.toStdString() + "\n");
    }

    void homesBelongToTheirUsers()
    {
        if (::geteuid() != 0)
            QSKIP("needs root: switches to other users");
        QVERIFY2(m_daemon->start(), m_daemon->log().c_str());
        const QByteArray mine = m_daemon->path("home/65534/secret").toLocal8Bit();
        const QByteArray home = m_daemon->path("home/65534").toLocal8Bit();
        const auto as = [](uid_t uid, const std::function<int()> &body) {
            const pid_t child = ::fork();
            if (child == 0) {
                if (::setgid(uid) != 0 || ::setuid(uid) != 0)
                    ::_exit(255);
                ::_exit(body());
            }
            int status = 0;
            ::waitpid(child, &status, 0);
            return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
        };
        QCOMPARE(as(65534,
                    [&] {
                        const int fd = ::open(mine.constData(), O_WRONLY | O_CREAT, 0644);
                        return fd >= 0 && ::write(fd, "x", 1) == 1 && ::close(fd) == 0 ? 0 : errno;
                    }),
                 0);
        struct stat info = {};
        QCOMPARE(::stat(home.constData(), &info), 0);
        QCOMPARE(info.st_uid, uid_t(65534));
        QCOMPARE(info.st_mode & 07777, mode_t(0700));
        // The entry is hot now; another user is refused all the same.
        QCOMPARE(as(1234, [&] { return ::open(mine.constData(), O_RDONLY) >= 0 ? 0 : errno; }), EACCES);
        QCOMPARE(as(1234, [&] { return ::stat(mine.constData(), &info) == 0 ? 0 : errno; }), EACCES);
        QCOMPARE(as(0, [&] { return ::open(mine.constData(), O_RDONLY) >= 0 ? 0 : errno; }), 0);
        // What the administrator owns can be read and not written by others.
        const QByteArray effort = m_daemon->path("model/debug/echo.d/effort").toLocal8Bit();
        QCOMPARE(as(1234, [&] { return ::open(effort.constData(), O_WRONLY) >= 0 ? 0 : errno; }), EACCES);
        QCOMPARE(as(1234, [&] { return ::open(effort.constData(), O_RDONLY) >= 0 ? 0 : errno; }), 0);
    }

    void repositoriesAndDatabasesLiveInHome()
    {
        QVERIFY2(m_daemon->start(), m_daemon->log().c_str());
        const QString home = m_daemon->path(("home/" + std::to_string(::getuid())).c_str());
        const Outcome git = shell(QStringLiteral("cd '%1' && git init -q r && cd r && echo a > a && git add a && "
                                                 "git -c user.name=t -c user.email=t@t commit -qm x && git fsck")
                                      .arg(home));
        QVERIFY2(git.exitCode == 0, git.err.c_str());
        const Outcome sql = shell(
            QStringLiteral("cd '%1' && sqlite3 d.db 'pragma journal_mode=wal; create table t(a); "
                           "insert into t values(1),(2); select sum(a) from t; pragma integrity_check'")
                .arg(home));
        QVERIFY2(sql.exitCode == 0 && sql.out.find("3\nok") != std::string::npos, (sql.out + sql.err).c_str());
    }

private:
    std::unique_ptr<DaemonProcess> m_daemon;
};

QTEST_GUILESS_MAIN(TreeTest)
#include "tree_test.moc"
