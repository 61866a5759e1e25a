// The least a QNetworkAccessManager program can do with an event stream: count its lines of data.
//     qnam_lines URL BODY
// Prints lines a second and microseconds of processor time a line.
#include <QCoreApplication>
#include <QElapsedTimer>
#include <QNetworkAccessManager>
#include <QNetworkProxy>
#include <QNetworkReply>

#include <cstdio>

#include <sys/resource.h>

namespace {

double seconds(const timeval &t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; }

} // namespace

int main(int argc, char **argv)
{
    QCoreApplication app(argc, argv);
    if (argc != 3) {
        std::fputs("usage: qnam_lines URL BODY\n", stderr);
        return 2;
    }
    QNetworkAccessManager manager;
    manager.setProxy(QNetworkProxy::NoProxy);
    QNetworkRequest request(QUrl(QString::fromLocal8Bit(argv[1])));
    request.setHeader(QNetworkRequest::ContentTypeHeader, QByteArray("application/json"));
    QElapsedTimer timer;
    timer.start();
    QNetworkReply *reply = manager.post(request, QByteArray(argv[2]));
    QByteArray buffer;
    long lines = 0;
    QObject::connect(reply, &QIODevice::readyRead, &app, [&] {
        buffer += reply->readAll();
        qsizetype at = 0;
        for (qsizetype end = buffer.indexOf('\n'); end >= 0; end = buffer.indexOf('\n', at)) {
            if (QByteArrayView(buffer).sliced(at, end - at).startsWith("data:"))
                ++lines;
            at = end + 1;
        }
        buffer.remove(0, at);
    });
    QObject::connect(reply, &QNetworkReply::finished, &app, &QCoreApplication::quit);
    app.exec();
    const double wall = static_cast<double>(timer.nsecsElapsed()) * 1e-9;
    if (reply->error() != QNetworkReply::NoError) {
        std::fprintf(stderr, "qnam_lines: %s\n", qPrintable(reply->errorString()));
        return 1;
    }
    rusage used = {};
    getrusage(RUSAGE_SELF, &used);
    const double cpu = seconds(used.ru_utime) + seconds(used.ru_stime);
    std::printf("%.1f %.4f\n", static_cast<double>(lines) / wall, cpu * 1e6 / static_cast<double>(lines));
    return 0;
}
