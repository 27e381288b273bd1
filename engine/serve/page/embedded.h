// The document of the page, which cmake/EmbedPage.cmake joins of the files in this folder.
#pragma once

namespace tandem::serve {

extern const char kEmbeddedPage[];  // "@NONCE@" stands for the answer's nonce

}  // namespace tandem::serve
