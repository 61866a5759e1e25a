// The least a libcurl program can do with an event stream: count its lines of data.
//     curl_lines URL BODY
// Prints lines a second and microseconds of processor time a line.
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static char line[4096];
static size_t lineSize;
static long lines;

static size_t take(char *data, size_t size, size_t count, void *unused)
{
    (void)unused;
    const char *at = data, *end = data + size * count;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const size_t piece = (size_t)((newline ? newline : end) - at);
        if (lineSize + piece <= sizeof line) {
            memcpy(line + lineSize, at, piece);
            lineSize += piece;
        }
        if (!newline)
            break;
        if (lineSize > 5 && memcmp(line, "data:", 5) == 0)
            ++lines;
        lineSize = 0;
        at = newline + 1;
    }
    return size * count;
}

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec * 1e-6; }

int main(int argc, char **argv)
{
    if (argc != 3)
        return fputs("usage: curl_lines URL BODY\n", stderr), 2;
    CURL *easy = curl_easy_init();
    char error[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(easy, CURLOPT_URL, argv[1]);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 65536L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, argv[2]);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (curl_easy_perform(easy) != CURLE_OK)
        return fprintf(stderr, "curl_lines: %s\n", error), 1;
    clock_gettime(CLOCK_MONOTONIC, &end);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    const double wall = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
    const double cpu = seconds(used.ru_utime) + seconds(used.ru_stime);
    printf("%.1f %.4f\n", (double)lines / wall, cpu * 1e6 / (double)lines);
    curl_easy_cleanup(easy);
    return 0;
}
