/* The cost of answers: prices of models per million tokens, in US dollars.
 *
 * A model whose price is not known costs an unknown sum, which is never guessed: tokens are counted, money is not. So
 * a name must fit exactly, but for the date that providers put behind it, and beyond the size for which a price is
 * published there is none. The cost of an answer is kept with it: prices that change later change nothing that was.
 */
#include "runtime/prices.h"

#include <ctype.h>

enum { DATE_DIGITS = 8, DECIMALS = 9, PRICE_DECIMALS = 6, TOKENS_MAX = 1000000000 };

/* As the providers published them in 2025; in millionths of a dollar per million tokens.
 *    name, input, output, read from the cache, put into it, most tokens of input (0: any) */
#define DOLLARS(d) ((int64_t)((d) * 1000000.0 + 0.5))
#define PRICES(X)                                            \
    X("claude-opus-4-5", 5, 25, 0.5, 6.25, 0)                \
    X("claude-opus-4-1", 15, 75, 1.5, 18.75, 0)              \
    X("claude-opus-4", 15, 75, 1.5, 18.75, 0)                \
    X("claude-sonnet-4-5", 3, 15, 0.3, 3.75, 200000)         \
    X("claude-sonnet-4", 3, 15, 0.3, 3.75, 200000)           \
    X("claude-3-7-sonnet", 3, 15, 0.3, 3.75, 0)              \
    X("claude-3-5-sonnet", 3, 15, 0.3, 3.75, 0)              \
    X("claude-haiku-4-5", 1, 5, 0.1, 1.25, 0)                \
    X("claude-3-5-haiku", 0.8, 4, 0.08, 1, 0)                \
    X("claude-3-haiku", 0.25, 1.25, 0.03, 0.3, 0)            \
    X("gpt-5", 1.25, 10, 0.125, 0, 0)                        \
    X("gpt-5-mini", 0.25, 2, 0.025, 0, 0)                    \
    X("gpt-4.1", 2, 8, 0.5, 0, 0)                            \
    X("gpt-4.1-mini", 0.4, 1.6, 0.1, 0, 0)                   \
    X("gpt-4o", 2.5, 10, 1.25, 0, 0)                         \
    X("gpt-4o-mini", 0.15, 0.6, 0.075, 0, 0)

static const struct price published[] = {
#define X(name, in, out, read, write, most)                                                                   \
    {{name, sizeof name - 1}, DOLLARS(in), DOLLARS(out), DOLLARS(read), DOLLARS(write), most},
    PRICES(X)
#undef X
};

/* ---- numbers ---- */

/* Reads a decimal number without sign or exponent, times ten to the power of `decimals`: "1.5" with 2 is 150. */
static bool parse_decimal(struct str text, int decimals, int64_t *ret_value)
{
    struct str fraction, whole = str_cut(text, '.', &fraction);
    int64_t value = 0;
    if (whole.n == 0 || whole.n > 9 || fraction.n > (size_t)decimals)
        return false;
    for (size_t i = 0; i < whole.n + (size_t)decimals; i++) {
        size_t at = i < whole.n ? i : i - whole.n;
        char c = i < whole.n ? whole.p[at] : at < fraction.n ? fraction.p[at] : '0';
        if (c < '0' || c > '9')
            return false;
        value = value * 10 + (c - '0');
    }
    *ret_value = value;
    return true;
}

/* In dollars; empty when it is not known. */
static struct str cost_text(struct arena *arena, const struct run_usage *usage)
{
    int64_t billion = 1000000000;
    if (usage->cost_unknown)
        return STR_NONE;
    struct str text = arena_printf(arena, "%lld.%09lld", (long long)(usage->cost / billion),
                                   (long long)(usage->cost % billion));
    while (str_ends(text, STR("0")))
        text.n--;
    if (str_ends(text, STR(".")))
        text.n--;
    return text;
}

struct data_usage prices_usage_data(struct arena *arena, const struct run_usage *usage)
{
    return (struct data_usage){.input = usage->input,
                               .output = usage->output,
                               .cache_read = usage->cache_read,
                               .cache_write = usage->cache_write,
                               .cost = cost_text(arena, usage)};
}

void run_usage_write(struct json_out *out, const struct run_usage *usage)
{
    ARENA_SCOPE(scratch);
    struct data_usage data = prices_usage_data(&scratch, usage);
    shape_write(out, shape_usage(), &data);
}

struct run_usage prices_read_usage(const struct data_usage *data)
{
    struct run_usage usage = {.cost_unknown = true};
    if (!data)
        return usage;
    usage = (struct run_usage){.input = data->input, .output = data->output, .cache_read = data->cache_read,
                               .cache_write = data->cache_write};
    usage.cost_unknown = !data->cost.n || !parse_decimal(data->cost, DECIMALS, &usage.cost);
    return usage;
}

/* ---- prices ---- */

/* From the setting "prices": without prices for the cache these are the input's. */
struct rc price_parse(struct str text, struct price *ret_price, struct err *err)
{
    struct str rest = text, name = str_cut(text, '=', &rest);
    int64_t *parts[] = {&ret_price->input, &ret_price->output, &ret_price->cache_read, &ret_price->cache_write};
    size_t count = 0;
    *ret_price = (struct price){.model = name};
    while (rest.n && count < sizeof parts / sizeof *parts) {
        struct str part = str_cut(rest, '/', &rest);
        if (!parse_decimal(part, PRICE_DECIMALS, parts[count++]))
            return err_set(err, ERR_INVALID, "prices: '%.*s' is not a price in dollars", STR_ARG(part));
    }
    if (name.n == 0 || count < 2 || rest.n)
        return err_set(err, ERR_INVALID, "prices: '%.*s' must be MODEL=INPUT/OUTPUT or MODEL=INPUT/OUTPUT/READ/WRITE, "
                                         "in dollars per million tokens", STR_ARG(text));
    if (count < 3)
        ret_price->cache_read = ret_price->input;
    if (count < 4)
        ret_price->cache_write = ret_price->input;
    return RC_OK;
}

/* The name, or the name with a date behind it. */
static bool fits(struct str model, struct str name)
{
    if (!str_starts(model, name))
        return false;
    struct str rest = str_sub(model, name.n, model.n);
    size_t digits = 0;
    for (size_t i = 1; i < rest.n; i++)
        digits += isdigit((unsigned char)rest.p[i]) != 0;
    return rest.n == 0 || (rest.p[0] == '-' && rest.n == DATE_DIGITS + 1 && digits == DATE_DIGITS);
}

static const struct price *find(const struct price *prices, size_t count, struct str model)
{
    return ROW_FIND(prices, count, row, fits(model, row->model));
}

/* A provider's own figures are ignored when they are impossible. */
static void settle_tokens(struct run_usage *usage)
{
    int64_t *tokens[] = {&usage->input, &usage->output, &usage->cache_read, &usage->cache_write};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        *tokens[i] = *tokens[i] < 0 ? 0 : *tokens[i] > TOKENS_MAX ? TOKENS_MAX : *tokens[i];
}

/* Adds the cost of some tokens to *sum. False: the sum would overflow. */
static bool add_cost(int64_t *sum, int64_t tokens, int64_t price)
{
    int64_t cost;
    return !__builtin_mul_overflow(tokens, price, &cost) && !__builtin_add_overflow(*sum, cost, sum);
}

/* The person's own prices come before the published ones. */
void price_usage(const struct runtime_options *options, struct str model, struct run_usage *usage)
{
    const struct price *price = find(options->prices, options->price_count, model);
    int64_t millionths = 500; /* to round */
    if (!price)
        price = find(published, sizeof published / sizeof *published, model);
    settle_tokens(usage);
    int64_t input = usage->input + usage->cache_read + usage->cache_write;
    bool known = price && (!price->input_max || input <= price->input_max) &&
                 add_cost(&millionths, usage->input, price->input) &&
                 add_cost(&millionths, usage->output, price->output) &&
                 add_cost(&millionths, usage->cache_read, price->cache_read) &&
                 add_cost(&millionths, usage->cache_write, price->cache_write);
    usage->cost_unknown = !known;
    usage->cost = known ? millionths / 1000 : 0; /* to billionths of a dollar */
}
