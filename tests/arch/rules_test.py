#!/usr/bin/env python3
"""Every rule finds what it is for, and leaves alone what looks like it."""

import sys
import unittest

import rules
from tree import Finding, Tree, strip_comments

H = "#pragma once\n"

# rule function, what a reader would say, the tree, the (path, line) that must be found
PLANTED = [
    (rules.includes_between_layers, "the GUI includes the daemon",
     {"gui/page.cpp": '#include "daemon/core/x.h"\n'}, [("gui/page.cpp", 1)]),
    (rules.includes_between_layers, "the GUI includes a channel",
     {"gui/page.cpp": '\n#include "channels/core/x.h"\n'}, [("gui/page.cpp", 2)]),
    (rules.includes_between_layers, "a channel includes the daemon",
     {"channels/core/a.h": H + '#include "daemon/core/x.h"\n'}, [("channels/core/a.h", 2)]),
    (rules.includes_between_layers, "common includes the daemon",
     {"common/base/a.h": H + '#  include "daemon/core/x.h"\n'}, [("common/base/a.h", 2)]),
    (rules.includes_between_layers, "the daemon includes main",
     {"daemon/core/a.h": H + '#include "app/cortexd/x.h"\n'}, [("daemon/core/a.h", 2)]),
    (rules.includes_between_layers, "the product includes a test helper",
     {"daemon/core/a.h": H + '#include "tests/support/x.h"\n'}, [("daemon/core/a.h", 2)]),
    (rules.includes_inside_common, "base includes json",
     {"common/base/a.h": H + '#include "common/json/json.h"\n'}, [("common/base/a.h", 2)]),
    (rules.includes_inside_common, "a folder of common that nobody placed",
     {"common/misc/a.h": H}, [("common/misc/a.h", 0)]),
    (rules.includes_of_narrow_folders, "a wire format knows the transport",
     {"daemon/providers/wire/one/a.h": H + '#include "daemon/providers/core/http.h"\n'},
     [("daemon/providers/wire/one/a.h", 2)]),
    (rules.includes_of_narrow_folders, "a codec knows a host",
     {"channels/codecs/one/a.h": H + '#include "channels/hosts/one/b.h"\n'}, [("channels/codecs/one/a.h", 2)]),
    (rules.includes_between_family_members, "one wire format includes another",
     {"daemon/providers/wire/one/a.h": H + '#include "daemon/providers/wire/two/b.h"\n'},
     [("daemon/providers/wire/one/a.h", 2)]),
    (rules.include_cycles, "two folders include each other",
     {"daemon/a/x.h": H + '#include "daemon/b/y.h"\n', "daemon/b/y.h": H, "daemon/a/z.h": H,
      "daemon/b/w.cpp": '#include "daemon/a/z.h"\n'}, [("daemon/a/x.h", 2), ("daemon/b/w.cpp", 1)]),
    (rules.include_cycles, "three folders in a ring",
     {"daemon/a/x.h": H + '#include "daemon/b/x.h"\n', "daemon/b/x.h": H + '#include "daemon/c/x.h"\n',
      "daemon/c/x.h": H + '#include "daemon/a/x.h"\n'},
     [("daemon/a/x.h", 2), ("daemon/b/x.h", 2), ("daemon/c/x.h", 2)]),
    (rules.library_headers, "fuse outside its bridge",
     {"daemon/fs/tree/a.h": H + "#include <fuse3/fuse_lowlevel.h>\n", "daemon/fs/nodes/b.h": H + '#include "fuse.h"\n'},
     [("daemon/fs/tree/a.h", 2), ("daemon/fs/nodes/b.h", 2)]),
    (rules.library_headers, "libcurl outside its transport",
     {"daemon/providers/core/a.cpp": "#include <curl/curl.h>\n", "daemon/providers/curl/a.cpp": "#include <curl/multi.h>\n"},
     [("daemon/providers/core/a.cpp", 1)]),
    (rules.library_headers, "RapidJSON outside common/json",
     {"daemon/core/a.cpp": "#include <rapidjson/document.h>\n"}, [("daemon/core/a.cpp", 1)]),
    (rules.library_headers, "Qt's JSON anywhere",
     {"gui/a.cpp": "#include <QJsonDocument>\n"}, [("gui/a.cpp", 1)]),
    (rules.library_headers, "the network in common/base",
     {"common/base/a.cpp": "#include <QLocalSocket>\n"}, [("common/base/a.cpp", 1)]),
    (rules.library_headers, "the network in a wire format",
     {"daemon/providers/wire/one/a.cpp": "#include <QNetworkReply>\n"}, [("daemon/providers/wire/one/a.cpp", 1)]),
    (rules.library_headers, "widgets in the daemon",
     {"daemon/core/a.cpp": "#include <QWidget>\n"}, [("daemon/core/a.cpp", 1)]),
    (rules.library_headers, "Qt in the runner",
     {"app/runner/main.cpp": "#include <QString>\n"}, [("app/runner/main.cpp", 1)]),
    (rules.file_sizes, "a file of 601 lines",
     {"daemon/core/a.cpp": "\n" * 601}, [("daemon/core/a.cpp", 0)]),
    (rules.header_shape, "a header without pragma once",
     {"daemon/core/a.h": "int f();\n"}, [("daemon/core/a.h", 0)]),
    (rules.header_shape, "a source that includes its own header second",
     {"daemon/core/a.h": H, "daemon/core/a.cpp": '#include <vector>\n#include "daemon/core/a.h"\n'},
     [("daemon/core/a.cpp", 1)]),
    (rules.header_shape, "an include from beside",
     {"daemon/core/b.h": H, "daemon/core/a.cpp": '#include "b.h"\n'}, [("daemon/core/a.cpp", 1)]),
    (rules.banned_words, "a thread that waits for another",
     {"daemon/core/a.cpp": "invoke(x, Qt::BlockingQueuedConnection);\n"}, [("daemon/core/a.cpp", 1)]),
    (rules.banned_words, "a nested event loop",
     {"gui/a.cpp": "QEventLoop loop;\n"}, [("gui/a.cpp", 1)]),
    (rules.banned_words, "using namespace in a header",
     {"daemon/core/a.h": H + "using namespace std;\n"}, [("daemon/core/a.h", 2)]),
    (rules.unfinished_words, "work left for later",
     {"daemon/core/a.cpp": "// TO" "DO: later\n"}, [("daemon/core/a.cpp", 1)]),
    (rules.unfinished_words, "a function that only says it is missing",
     {"tests/x_test.cpp": 'fail("not imple' 'mented");\n'}, [("tests/x_test.cpp", 1)]),
    (rules.vendor_names, "a vendor in code",
     {"daemon/models/a.cpp": "int x;\nbool isOpenAiModel();\n"}, [("daemon/models/a.cpp", 2)]),
    (rules.vendor_names, "a vendor in a string",
     {"common/config/a.cpp": 'const char *kHost = "api.anthropic.com";\n'}, [("common/config/a.cpp", 1)]),
    (rules.vendor_names, "a short name as a word of its own",
     {"app/ctx/a.cpp": 'x("gpt-5.6");\n'}, [("app/ctx/a.cpp", 1)]),
    (rules.vendor_names, "a vendor beside an example",
     {"app/ctx/a.cpp": '{"ctx which gemini/x", name == "gemini"},\n'}, [("app/ctx/a.cpp", 1)]),
    (rules.vendor_names, "a vendor in what the formats share",
     {"daemon/providers/wire/core/a.cpp": "int gemini;\n"}, [("daemon/providers/wire/core/a.cpp", 1)]),
    (rules.vendor_names, "a vendor in a build file",
     {"common/CMakeLists.txt": "set(x telegram)\n"}, [("common/CMakeLists.txt", 1)]),
    (rules.foreign_places, "the host of a registry in any file",
     {"README.md": "deb http://deb.deb" "ian.org/debian\n", "a.json": '"https://registry.np' 'mjs.org/x"\n'},
     [("README.md", 1), ("a.json", 1)]),
    (rules.foreign_places, "a path of one machine",
     {"tests/run": "cd /wo" "rk/main\n"}, [("tests/run", 1)]),
    (rules.lock_files, "a lock file that says where a package came from",
     {"tests/e2e/package-lock.json": '{\n"resolved": "https://host/x.tgz"\n}\n'}, [("tests/e2e/package-lock.json", 2)]),
    (rules.top_level_entries, "a new top-level folder",
     {"utils/a.h": H}, [("utils", 0)]),
]

# What is right and looks a little like what is wrong: no rule may find anything here.
CLEAN = {
    "CMakeLists.txt": "project(CortexFS)\n",
    "README.md": "Works with OpenAI-compatible servers.\n",
    "app/cortexd/main.cpp": '#include "common/base/a.h"\n#include "daemon/core/a.h"\n',
    "app/runner/main.cpp": '#include "common/base/limits.h"\n#include <unistd.h>\n',
    "app/ctx/commands/which/which.cpp": '.examples = {{"ctx which openai/gpt-5.6", "Where is it?"}},\n',
    "daemon/providers/route/geo.cpp": "#include <google/protobuf/x.h>\nusing google::protobuf::Y;\n",
    "channels/codecs/telegram/codec.cpp": '#include "channels/core/message.h"\nint telegram;\n',
    "channels/core/message.h": H + '#include "common/base/a.h"\n',
    "common/abi/a.h": H + '#include "common/json/json.h"\n// the path "model/openai/gpt-5.6"\n',
    "common/base/a.h": H + "/* QEventLoop and using namespace x are only named here */\n",
    "common/base/a.cpp": '#include "common/base/a.h"\n\nint x = 10\'000; // it\'s\n',
    "common/base/limits.h": H,
    "common/control_client/client.cpp": "#include <QLocalSocket>\n",
    "common/json/json.h": H,
    "common/json/json.cpp": '#include "common/json/json.h"\n#include <rapidjson/reader.h>\n',
    "daemon/core/a.h": H + '#include "daemon/providers/wire/wire_format.h"\n',
    "daemon/core/long.cpp": "\n" * 600,
    "daemon/fs/bridge/loop.cpp": "#include <fuse_lowlevel.h>\n",
    "daemon/fs/nodes/dir.cpp": 'const char *k = "confuse.h"; // fuse.h\n',
    "daemon/providers/core/http.cpp": '#include "common/curl/x.h"\n',
    "daemon/providers/curl/stream.cpp": '#include "daemon/providers/curl/curl_error.h"\n#include <curl/curl.h>\n',
    "daemon/providers/curl/curl_error.h": H + "#include <curl/curl.h>\n",
    "daemon/providers/wire/core/sse.h": H,
    "daemon/providers/wire/openai_chat/format.cpp":
        '#include "daemon/providers/wire/wire_format.h"\n#include "daemon/providers/wire/core/sse.h"\nint openai;\n',
    "daemon/providers/wire/wire_format.h": H + '#include "common/base/a.h"\n',
    "packaging/presets/openai.json": '{"base_url": "https://api.openai.com/v1"}\n',
    "tests/models/run_test.cpp": '#include "daemon/core/a.h"\nQEventLoop loop; // "openai"\n',
    "tests/e2e/package-lock.json": '{"integrity": "sha512-x"}\n',
    "daemon/models/homework.cpp": 'const char *k = "home/1000/homework/x"; int swordgpta;\n',
}


class PlantedViolations(unittest.TestCase):
    def test_each_is_found_at_its_place(self):
        for rule, what, files, places in PLANTED:
            with self.subTest(what):
                found = [(finding.path, finding.line) for finding in rule(Tree(files))]
                self.assertEqual(sorted(found), sorted(places))

    def test_every_rule_has_one(self):
        self.assertEqual(set(rules.RULES), {rule for rule, *_ in PLANTED})

    def test_the_whole_check_reports_it(self):
        for rule, what, files, places in PLANTED:
            with self.subTest(what):
                found = {(finding.path, finding.line) for finding in rules.check(Tree(files))}
                self.assertLessEqual(set(places), found)


class CleanTree(unittest.TestCase):
    def test_nothing_is_found(self):
        self.assertEqual(rules.check(Tree(CLEAN)), [])


class Comments(unittest.TestCase):
    def test_stripped(self):
        rows = [
            ("a line comment", "x; // y\nz", "x; \nz"),
            ("a block comment keeps the line count", "a /* b\nc */ d", "a \n d"),
            ("slashes in a string stay", 'u("http://h"); // c', 'u("http://h"); '),
            ("an escaped quote", r'f("a\"// b"); // c', r'f("a\"// b"); '),
            ("a raw string stays", 'r(R"x(// " \n)x"); // c', 'r(R"x(// " \n)x"); '),
            ("a quote character", "c('\"'); // \"", "c('\"'); "),
            ("a digit separator is no character literal", "a = 1'000; b = 2'000; // c", "a = 1000; b = 2000; "),
        ]
        for what, text, expected in rows:
            with self.subTest(what):
                self.assertEqual(strip_comments(text), expected)


class Output(unittest.TestCase):
    def test_a_finding_reads_like_a_compiler_message(self):
        self.assertEqual(str(Finding("a/b.h", 3, "layers", "no")), "a/b.h:3: [layers] no")
        self.assertEqual(str(Finding("a/b.h", 0, "size", "no")), "a/b.h: [size] no")


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
