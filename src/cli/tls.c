/* nod tls init: an authority of this installation's own, and a certificate that it vouches for. */
#include "base/certificate.h"
#include "cli/cli.h"
#include "io/file.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

enum { PEM_BYTES_MAX = 64 << 10 };

static const char *path_of(struct cli *cli, const char *name)
{
    return arena_printf(&cli->arena, "%s/tls/%s", cli->settings.data, name).p;
}

/* ---- names ---- */

static bool is_far(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 != 127;
    const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;
    return address->sa_family == AF_INET6 && !IN6_IS_ADDR_LOOPBACK(six) && !IN6_IS_ADDR_LINKLOCAL(six);
}

/* Adds the names and addresses by which other machines in the network reach this one. */
static struct rc add_own_names(struct cli *cli, struct certificate_names *names, struct err *err)
{
    char host[256] = "", text[NI_MAXHOST];
    struct ifaddrs *first = NULL;
    struct rc rc = RC_OK;
    if (gethostname(host, sizeof host - 1) == 0 && host[0]) {
        TRY(certificate_add_name(names, arena_str(&cli->arena, str_of(host)), err));
        if (!strchr(host, '.'))
            TRY(certificate_add_name(names, arena_printf(&cli->arena, "%s.local", host), err));
    }
    if (getifaddrs(&first) != 0)
        return RC_OK;
    for (const struct ifaddrs *at = first; at && rc_ok(rc) && names->count + 4 < CERTIFICATE_NAMES_MAX;
         at = at->ifa_next) {
        bool four = at->ifa_addr && at->ifa_addr->sa_family == AF_INET;
        socklen_t n = four ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
        if (at->ifa_addr && is_far(at->ifa_addr) &&
            getnameinfo(at->ifa_addr, n, text, sizeof text, NULL, 0, NI_NUMERICHOST) == 0)
            rc = certificate_add_name(names, arena_str(&cli->arena, str_of(text)), err);
    }
    freeifaddrs(first);
    return rc;
}

/* The loopback names are always among them: the command line and local agents reach the same port. */
static struct rc choose_names(struct cli *cli, struct certificate_names *names, struct err *err)
{
    size_t at = 0;
    for (const char *name; (name = option_each(cli, "name", &at));)
        TRY(certificate_add_name(names, str_of(name), err));
    if (names->count == 0)
        TRY(add_own_names(cli, names, err));
    TRY(certificate_add_name(names, STR("localhost"), err));
    TRY(certificate_add_name(names, STR("127.0.0.1"), err));
    return certificate_add_name(names, STR("::1"), err);
}

/* ---- the authority ---- */

/* The authority's certificate limits the names that it may sign, so that a stolen key is of little use; new names
 * need a new one. */
static struct rc check_covered(struct cli *cli, const struct certificate_names *wanted,
                               const struct certificate_names *covered, struct err *err)
{
    struct certificate_names all = *covered;
    for (size_t i = 0; i < wanted->count; i++) {
        struct rc rc = certificate_add_name(&all, wanted->items[i], err);
        if (rc_bad(rc) || all.count > covered->count)
            return err_set(err, ERR_CONFLICT, "the authority in %s may not vouch for %.*s; --new makes another, which "
                           "each device must be told to trust", path_of(cli, ""), STR_ARG(wanted->items[i]));
    }
    return RC_OK;
}

/* Without --name the new certificate is for the names of the old one. */
static struct rc read_authority(struct cli *cli, struct certificate *authority, struct certificate_names *names,
                                struct err *err)
{
    struct certificate_names covered = {0};
    size_t at = 0;
    TRY(file_read(&cli->arena, path_of(cli, "ca.pem"), PEM_BYTES_MAX, &authority->pem, err));
    TRY(file_read(&cli->arena, path_of(cli, "ca.key"), PEM_BYTES_MAX, &authority->key, err));
    TRY(certificate_names_of(&cli->arena, authority->pem, &covered, err));
    if (option_each(cli, "name", &at))
        TRY(check_covered(cli, names, &covered, err));
    else
        *names = covered;
    return RC_OK;
}

static struct rc make_authority(struct cli *cli, struct certificate *authority, const struct certificate_names *names,
                                struct err *err)
{
    struct str title = arena_printf(&cli->arena, "Nod of %.*s", STR_ARG(names->items[0]));
    TRY(certificate_make_authority(&cli->arena, str_sub(title, 0, title.n < 64 ? title.n : 64), names, authority, err));
    TRY(file_write_private(path_of(cli, "ca.key"), authority->key, err));
    return file_write_private(path_of(cli, "ca.pem"), authority->pem, err);
}

/* ---- words ---- */

static void say_how_to_trust(struct cli *cli)
{
    const char *ca = path_of(cli, "ca.pem");
    cli_note("\nEach device that shall reach the page by TLS must trust %s once:\n"
             "  Debian, Ubuntu    sudo cp %s /usr/local/share/ca-certificates/nod.crt && sudo update-ca-certificates\n"
             "  Fedora            sudo trust anchor %s\n"
             "  Chromium, Linux   certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n Nod -i %s   (libnss3-tools)\n"
             "  Firefox           Settings, Privacy & Security, View Certificates, Authorities, Import\n"
             "  macOS             sudo security add-trusted-cert -d -k /Library/Keychains/System.keychain %s\n"
             "  Windows           certutil -addstore Root ca.pem   (as administrator)\n"
             "  iPhone, iPad      open https://ADDRESS/ca.crt in Safari, install the profile, then switch it\n"
             "                    on in General, About, Certificate Trust Settings\n"
             "  Android           open https://ADDRESS/ca.crt, then Settings, Security, Install a certificate, CA\n"
             "It can vouch for these names only; nobody who steals its key can pretend to be another site.",
             ca, ca, ca, ca, ca);
}

/* The authority stays when there is one, so that devices that trust it need not be told again. */
struct rc tls_init_command(struct cli *cli, struct err *err)
{
    struct certificate_names names = {0};
    struct certificate authority, server;
    bool keep = !option_flag(cli, "new") && access(path_of(cli, "ca.pem"), F_OK) == 0;
    TRY(choose_names(cli, &names, err));
    TRY(file_own_folder(cli->settings.data, err));
    TRY(file_own_folder(path_of(cli, ""), err));
    TRY(keep ? read_authority(cli, &authority, &names, err) : make_authority(cli, &authority, &names, err));
    TRY(certificate_make(&cli->arena, &authority, &names, &server, err));
    /* The key first: a server that looks in between finds a pair that does not fit, and keeps the old one. */
    TRY(file_write_private(path_of(cli, "key.pem"), server.key, err));
    TRY(file_write_private(path_of(cli, "cert.pem"), server.pem, err));
    cli_note("%s, with a certificate for 397 days, for:", keep ? "The same authority" : "A new authority");
    for (size_t i = 0; i < names.count; i++)
        cli_out(arena_printf(&cli->arena, "%.*s\n", STR_ARG(names.items[i])));
    if (!keep)
        say_how_to_trust(cli);
    cli_note("%s", keep ? "A running server uses the new certificate from its next connection on."
                        : "\n`nod serve --listen-tls 0.0.0.0:7718 --public-url https://NAME:7718` uses it; "
                          "`nod pair` then brings a phone in.");
    return RC_OK;
}
