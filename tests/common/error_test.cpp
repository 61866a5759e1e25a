#include "common/base/error.h"
#include "common/base/result.h"
#include "tests/common/test_strings.h"

#include <QTest>

#include <set>

using namespace cortexfs;

class ErrorTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void exitCodes_data();
    void exitCodes();
    void everyNumberHasOneMeaningAtEveryBorder();
    void unknownNumbersLeaveAsEio_data();
    void unknownNumbersLeaveAsEio();
    void unknownNamesAreNoErrno_data();
    void unknownNamesAreNoErrno();
    void namedFunctions_data();
    void namedFunctions();
    void textHoldsTheDetailFirst();
    void systemCallsSayWhatFailed();
    void resultHoldsOneOfBoth();
};

void ErrorTest::exitCodes_data()
{
    QTest::addColumn<int>("number");
    QTest::addColumn<std::string>("name");
    QTest::addColumn<int>("exitCode");
    const auto row = [](int number, const char *name, int exitCode) {
        QTest::newRow(name) << number << std::string(name) << exitCode;
    };
    // decisions 4 and 6
    row(EINVAL, "EINVAL", 2);
    row(EMSGSIZE, "EMSGSIZE", 2);
    row(E2BIG, "E2BIG", 2);
    row(ENOTSUP, "ENOTSUP", 2);
    row(EACCES, "EACCES", 13);
    row(EPERM, "EPERM", 13);
    row(ENOKEY, "ENOKEY", 69);
    row(EHOSTDOWN, "EHOSTDOWN", 69);
    row(EHOSTUNREACH, "EHOSTUNREACH", 69);
    row(ECONNREFUSED, "ECONNREFUSED", 69);
    row(ETIMEDOUT, "ETIMEDOUT", 69);
    row(EAGAIN, "EAGAIN", 69);
    row(EDQUOT, "EDQUOT", 69);
    row(ENODEV, "ENODEV", 69);
    row(ECONNRESET, "ECONNRESET", 69);
    row(ENOTCONN, "ENOTCONN", 69); // a mount whose daemon is gone
    row(EIO, "EIO", 70);
    row(EPROTO, "EPROTO", 70);
    row(EBADMSG, "EBADMSG", 70);
    for (const auto &[number, name] : {std::pair{ENOENT, "ENOENT"},
                                       std::pair{EINTR, "EINTR"},
                                       std::pair{EBADF, "EBADF"},
                                       std::pair{ENOMEM, "ENOMEM"},
                                       std::pair{EBUSY, "EBUSY"},
                                       std::pair{EEXIST, "EEXIST"},
                                       std::pair{EXDEV, "EXDEV"},
                                       std::pair{ENOTDIR, "ENOTDIR"},
                                       std::pair{EISDIR, "EISDIR"},
                                       std::pair{ENFILE, "ENFILE"},
                                       std::pair{EMFILE, "EMFILE"},
                                       std::pair{EFBIG, "EFBIG"},
                                       std::pair{ENOSPC, "ENOSPC"},
                                       std::pair{EROFS, "EROFS"},
                                       std::pair{EPIPE, "EPIPE"},
                                       std::pair{ERANGE, "ERANGE"},
                                       std::pair{ENAMETOOLONG, "ENAMETOOLONG"},
                                       std::pair{ENOSYS, "ENOSYS"},
                                       std::pair{ENOTEMPTY, "ENOTEMPTY"},
                                       std::pair{ELOOP, "ELOOP"},
                                       std::pair{ENODATA, "ENODATA"},
                                       std::pair{EADDRINUSE, "EADDRINUSE"},
                                       std::pair{ESTALE, "ESTALE"},
                                       std::pair{ECANCELED, "ECANCELED"}})
        row(number, name, 1);
}

void ErrorTest::exitCodes()
{
    QFETCH(int, number);
    QFETCH(std::string, name);
    QFETCH(int, exitCode);
    QCOMPARE(std::string(errnoName(number)), name);
    QCOMPARE(errnoFromName(name), number);
    QCOMPARE(exitCodeFor(number), exitCode);
    QCOMPARE(std::string(makeError(number, "m").name()), name);
}

void ErrorTest::everyNumberHasOneMeaningAtEveryBorder()
{
    std::set<std::string_view> names;
    for (int number = 1; number < 4096; ++number) {
        const std::string_view name = errnoName(number);
        const int again = errnoFromName(name);
        QVERIFY2(again != 0, std::string(name).c_str());
        // What a reader of the frame makes of it is what the process exits with.
        QCOMPARE(exitCodeFor(again), exitCodeFor(number));
        if (again == number)
            QVERIFY2(names.insert(name).second, std::string(name).c_str());
    }
    QCOMPARE(exitCodeFor(0), 0);
}

void ErrorTest::unknownNumbersLeaveAsEio_data()
{
    QTest::addColumn<int>("number");
    QTest::newRow("zero") << 0;
    QTest::newRow("negative") << -EINVAL;
    QTest::newRow("an errno that is not a stable name") << ENOTTY;
    QTest::newRow("beyond all") << 99999;
    QTest::newRow("the least int") << std::numeric_limits<int>::min();
}

void ErrorTest::unknownNumbersLeaveAsEio()
{
    QFETCH(int, number);
    QCOMPARE(std::string(errnoName(number)), std::string("EIO"));
    if (number != 0)
        QCOMPARE(exitCodeFor(number), kExitInternal);
}

void ErrorTest::unknownNamesAreNoErrno_data()
{
    QTest::addColumn<std::string>("name");
    QTest::newRow("empty") << std::string();
    QTest::newRow("lower case") << std::string("einval");
    QTest::newRow("a blank behind") << std::string("EINVAL ");
    QTest::newRow("a prefix") << std::string("EINVA");
    QTest::newRow("an alias of EAGAIN") << std::string("EWOULDBLOCK");
    QTest::newRow("a NUL behind") << std::string("EIO\0", 4);
    QTest::newRow("a number") << std::string("22");
}

void ErrorTest::unknownNamesAreNoErrno()
{
    QFETCH(std::string, name);
    QCOMPARE(errnoFromName(name), 0);
}

void ErrorTest::namedFunctions_data()
{
    using Make = Error (*)(std::string);
    QTest::addColumn<int>("made");
    QTest::addColumn<int>("number");
    const auto row = [](const char *name, Make make, int number) {
        QTest::newRow(name) << make("m").number() << number;
    };
    row("invalid", errors::invalid, EINVAL);
    row("tooLarge", errors::tooLarge, EMSGSIZE);
    row("accessDenied", errors::accessDenied, EACCES);
    row("notPermitted", errors::notPermitted, EPERM);
    row("notFound", errors::notFound, ENOENT);
    row("alreadyExists", errors::alreadyExists, EEXIST);
    row("readOnly", errors::readOnly, EROFS);
    row("noCredential", errors::noCredential, ENOKEY);
    row("quotaExhausted", errors::quotaExhausted, EDQUOT);
    row("busy", errors::busy, EBUSY);
    row("tryAgain", errors::tryAgain, EAGAIN);
    row("stale", errors::stale, ESTALE);
    row("unsupported", errors::unsupported, ENOTSUP);
    row("timedOut", errors::timedOut, ETIMEDOUT);
    row("cancelled", errors::cancelled, ECANCELED);
    row("hostDown", errors::hostDown, EHOSTDOWN);
    row("unreachable", errors::unreachable, EHOSTUNREACH);
    row("refused", errors::refused, ECONNREFUSED);
    row("connectionReset", errors::connectionReset, ECONNRESET);
    row("protocol", errors::protocol, EPROTO);
    row("badMessage", errors::badMessage, EBADMSG);
    row("io", errors::io, EIO);
}

void ErrorTest::namedFunctions()
{
    QFETCH(int, made);
    QFETCH(int, number);
    QCOMPARE(made, number);
    QCOMPARE(errnoFromName(errnoName(number)), number); // each has a stable name
}

void ErrorTest::textHoldsTheDetailFirst()
{
    const Error error = errors::invalid("not a number");
    QCOMPARE(error.text(), std::string("not a number"));
    QVERIFY(error.detail().empty());
    const Error placed = error.withDetail("line 3");
    QCOMPARE(placed.text(), std::string("line 3: not a number"));
    QCOMPARE(placed.message(), std::string("not a number"));
    QCOMPARE(error.detail(), std::string()); // the original stays
    QVERIFY(placed != error);
    QVERIFY(placed == error.withDetail("line 3"));
}

void ErrorTest::systemCallsSayWhatFailed()
{
    const Error error = errors::fromErrno(ENOENT, "open providers.d");
    QCOMPARE(error.number(), ENOENT);
    QCOMPARE(error.text(), std::string("open providers.d: No such file or directory"));
    QCOMPARE(std::string(errors::fromErrno(12345, "x").name()), std::string("EIO"));
}

void ErrorTest::resultHoldsOneOfBoth()
{
    const Result<std::string> good = std::string("v");
    QVERIFY(good.isOk() && bool(good));
    QCOMPARE(*good, std::string("v"));
    const Result<std::string> bad = errors::io("broken");
    QVERIFY(!bad);
    QCOMPARE(bad.error().number(), EIO);
    QCOMPARE(bad.valueOr("other"), std::string("other"));
    QCOMPARE(good.valueOr("other"), std::string("v"));
    QVERIFY(Result<void>().isOk());
    QVERIFY(!Result<void>(errors::busy("x")).isOk());
    Result<std::unique_ptr<int>> owned = std::make_unique<int>(7);
    const std::unique_ptr<int> taken = std::move(owned).value();
    QCOMPARE(*taken, 7);
}

QTEST_GUILESS_MAIN(ErrorTest)
#include "error_test.moc"
