// Lets a person change a text in the editor of his choice: on a private copy (0600 in a directory 0700), never on the
// file itself.
#pragma once

#include "common/base/places.h"
#include "common/base/result.h"

#include <functional>
#include <string>

namespace cortexfs::ctx {

// Opens $VISUAL, else $EDITOR, else `editor`, else `vi` on a copy of `initial` and gives what is in it afterwards. The
// variables may hold arguments ("code --wait"); as elsewhere the shell reads them. `fileName` is the copy's own name, so
// that the editor knows the language by its suffix. The copy is gone when this returns.
// ENOENT: no editor; ECANCELED: the editor ended with a failure or a signal; EMSGSIZE: over `maxBytes`; EIO: the copy
// cannot be made or read.
Result<std::string> editText(const std::string &initial, const std::string &fileName, std::size_t maxBytes,
                             const Environment &environment);

struct EditSteps {
    std::string fileName; // "route", "openai.json"
    std::size_t maxBytes = 0;
    // What is wrong with the text, if anything. On a terminal the person is asked whether to go on with his text; without
    // one, or when he does not want to, the error is the outcome and says where the copy is kept.
    std::function<Result<void>(const std::string &text)> check;
    // Hands it to the daemon. A failure (ESTALE, ...) is the outcome and says where the copy is kept.
    std::function<Result<void>(const std::string &text)> store;
};

enum class EditOutcome { Unchanged, Stored };

// The whole of an `edit` command: edit, check, edit again, store. Nothing that was typed is lost: when the text is not
// stored, the copy stays and the error's text names it. An unchanged text is neither checked nor stored.
Result<EditOutcome> editAndStore(const std::string &initial, const EditSteps &steps, const Environment &environment);

} // namespace cortexfs::ctx
