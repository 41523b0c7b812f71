/* Markdown as lines of a body (body.h): headings, lists with their numbers, tables, code. Pure.
 *
 * Nothing that was written is hidden: the address of a link stands behind its words, HTML is shown as text, and code
 * keeps its marks. A document that the library refuses, or whose table has too many cells, is not rendered.
 */
#ifndef CLI_MARKDOWN_H
#define CLI_MARKDOWN_H

#include "base/buf.h"

/* False: nothing was written, and the text is to be shown as it is (without libmd4c, for example). */
bool markdown_put(struct buf *buf, struct str text);

#endif
