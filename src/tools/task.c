/* Task: a part of the work is given to a sub-agent. Its definition for the model is here; the sub-agent itself is a
 * run of its own (runtime/task.c), so there is nothing to do in this folder. */
#include "tools/tool.h"

static struct rc run(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    (void)use;
    (void)ret_text;
    return err_set(err, ERR_INVALID, "only a run can start a sub-agent");
}

const struct executor executor_task = {
    .name = "Task",
    .description = "Gives a part of the work to a sub-agent, which has the same tools and asks for itself. It sees "
                   "nothing of this conversation: put all it needs into the prompt. Its last message is the result.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"description\":{\"type\":\"string\",\"description\":\"What it is for, in a few words\"},"
              "\"prompt\":{\"type\":\"string\",\"description\":\"What the sub-agent is to do\"},"
              "\"subagent_type\":{\"type\":\"string\",\"description\":\"Its name: reviewer, tester, …\"}},"
              "\"required\":[\"description\",\"prompt\"]}",
    .elsewhere = true,
    .run = run,
};
