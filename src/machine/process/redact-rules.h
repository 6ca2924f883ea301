/* Within redact.c: how programs are given secrets on their command lines, a row a way. */
#pragma once

#include <stdint.h>

enum secret_way {
	JOINED = 1, /* -pSECRET, --user=SECRET */
	APART = 2,  /* -p SECRET */
	BOTH = 3,
	WORDS = 4,  /* after `word` some of the words that follow, options and what belongs to them left out; no word: after the program */
	STRICT = 5, /* as WORDS, as long as no option comes */
	PAIR = 6,   /* user/SECRET@place in any word */
};

struct secret_rule {
	const char *program; /* its file's name; "mysql*": it begins so */
	const char *word;    /* an option or a word; "*_auth": it ends so */
	enum secret_way way;
	char after;	   /* what ends the name that stands before the secret; 0 = all of it */
	uint8_t which;	   /* WORDS, STRICT: bit 0 = the next word ... */
	const char *verb;  /* only once this word was seen; NULL = always */
};

#define FIRST  1
#define SECOND 2
#define THIRD  4
#define FOURTH 8

static const struct secret_rule rules[] = {
	/* databases */
	{"mysql*", "-p", JOINED, 0, 0, 0}, {"mariadb*", "-p", JOINED, 0, 0, 0}, {"mysqladmin", "password", WORDS, 0, FIRST, 0},
	{"mariadb-admin", "password", WORDS, 0, FIRST, 0}, {"mongo*", "-p", BOTH, 0, 0, 0}, {"redis-cli", "-a", BOTH, 0, 0, 0},
	{"redis-cli", "requirepass", WORDS, 0, FIRST, 0}, {"sqlcmd", "-P", BOTH, 0, 0, 0}, {"bcp", "-P", BOTH, 0, 0, 0},
	{"tsql", "-P", BOTH, 0, 0, 0}, {"isql", 0, WORDS, 0, THIRD, 0}, {"cqlsh", "-p", APART, 0, 0, 0},
	{"cypher-shell", "-p", APART, 0, 0, 0}, {"hdbsql", "-p", APART, 0, 0, 0}, {"beeline", "-p", APART, 0, 0, 0},
	{"db2", "using", WORDS, 0, FIRST, 0}, {"sqlplus", 0, PAIR, 0, 0, 0}, {"sqlldr", 0, PAIR, 0, 0, 0}, {"rman", 0, PAIR, 0, 0, 0},
	{"exp", 0, PAIR, 0, 0, 0}, {"imp", 0, PAIR, 0, 0, 0}, {"expdp", 0, PAIR, 0, 0, 0}, {"impdp", 0, PAIR, 0, 0, 0},
	{"redis-cli", "AUTH", WORDS, 0, FIRST | SECOND, 0}, {"redis-cli", "auth", WORDS, 0, FIRST | SECOND, 0}, {"mycli", "-p", BOTH, 0, 0, 0},
	{"pgcli", "-W", APART, 0, 0, 0}, {"snowsql", "-p", APART, 0, 0, 0},
	{"etcdctl", "--user", APART, ':', 0, 0}, {"etcdctl", "--user=", JOINED, ':', 0, 0},
	/* networks */
	{"nmcli", "password", WORDS, 0, FIRST, 0}, {"nmcli", "*.psk", WORDS, 0, FIRST, 0}, {"nmcli", "*-key0", WORDS, 0, FIRST, 0},
	{"wpa_passphrase", 0, WORDS, 0, SECOND, 0}, {"wpa_cli", "psk", WORDS, 0, FIRST, 0}, {"wpa_cli", "password", WORDS, 0, FIRST, 0},
	{"wpa_cli", "wep_key*", WORDS, 0, FIRST, 0}, {"wpa_cli", "passphrase", WORDS, 0, SECOND, 0}, {"pppd", "password", WORDS, 0, FIRST, 0},
	{"iwconfig", "key", WORDS, ':', FIRST, 0}, {"iw", "key", WORDS, ':', FIRST, 0},
	{"smb*", "-U", BOTH, '%', 0, 0}, {"rpcclient", "-U", BOTH, '%', 0, 0}, {"net", "-U", BOTH, '%', 0, 0}, {"winexe", "-U", BOTH, '%', 0, 0},
	{"smbclient", 0, STRICT, 0, SECOND, 0}, {"net", "user", WORDS, 0, SECOND, 0}, {"samba-tool", "create", WORDS, 0, SECOND, 0},
	{"net", "use", WORDS, 0, SECOND, 0}, {"wbinfo", "-a", APART, '%', 0, 0}, {"smbpasswd", "-w", APART, 0, 0, 0},
	{"ipa-*", "-w", BOTH, 0, 0, 0}, {"ipa-*", "-a", BOTH, 0, 0, 0}, {"ipa-server-install", "-p", BOTH, 0, 0, 0},
	{"dsconf", "-w", APART, 0, 0, 0}, {"dsidm", "-w", APART, 0, 0, 0},
	{"ss-*", "-k", BOTH, 0, 0, 0}, {"sslocal", "-k", BOTH, 0, 0, 0}, {"ssserver", "-k", BOTH, 0, 0, 0}, {"frpc", "-t", APART, 0, 0, 0},
	{"swaks", "-ap", APART, 0, 0, 0}, {"sendemail", "-xp", APART, 0, 0, 0}, {"sendEmail", "-xp", APART, 0, 0, 0},
	{"ejabberdctl", "register", WORDS, 0, THIRD, 0}, {"ejabberdctl", "change_password", WORDS, 0, THIRD, 0},
	{"prosodyctl", "register", WORDS, 0, THIRD, 0}, {"doveadm", "-p", APART, 0, 0, "pw"}, {"doveadm", "test", WORDS, 0, SECOND, 0},
	{"samba-tool", "add", WORDS, 0, SECOND, 0}, {"ldap*", "-w", BOTH, 0, 0, 0}, {"ldappasswd", "-s", BOTH, 0, 0, 0},
	{"ldappasswd", "-a", BOTH, 0, 0, 0}, {"kadmin*", "-w", APART, 0, 0, 0}, {"snmp*", "-c", BOTH, 0, 0, 0}, {"snmp*", "-A", BOTH, 0, 0, 0},
	{"snmp*", "-X", BOTH, 0, 0, 0}, {"ipmitool", "-P", BOTH, 0, 0, 0}, {"mosquitto_*", "-P", BOTH, 0, 0, 0},
	{"rabbitmqctl", "add_user", WORDS, 0, SECOND, 0}, {"rabbitmqctl", "change_password", WORDS, 0, SECOND, 0},
	{"rabbitmqctl", "authenticate_user", WORDS, 0, SECOND, 0}, {"rabbitmqadmin", "-p", APART, 0, 0, 0},
	/* the web */
	{"curl", "-u", BOTH, ':', 0, 0}, {"curl", "-U", BOTH, ':', 0, 0}, {"curl", "--user", APART, ':', 0, 0},
	{"curl", "--user=", JOINED, ':', 0, 0},
	{"curl", "--proxy-user", APART, ':', 0, 0}, {"curl", "--proxy-user=", JOINED, ':', 0, 0}, {"curl", "--oauth2-bearer", APART, 0, 0, 0},
	{"curl", "--cert", APART, ':', 0, 0}, {"curl", "-E", BOTH, ':', 0, 0}, {"curl", "-b", BOTH, '=', 0, 0},
	{"http", "-a", BOTH, ':', 0, 0}, {"https", "-a", BOTH, ':', 0, 0}, {"lftp", "-u", BOTH, ',', 0, 0}, {"ncftp*", "-p", APART, 0, 0, 0},
	{"xh", "-a", BOTH, ':', 0, 0}, {"hey", "-a", APART, ':', 0, 0}, {"sqlmap", "--auth-cred=", JOINED, ':', 0, 0},
	{"drush", "user:password", WORDS, 0, SECOND, 0}, {"drush", "upwd", WORDS, 0, SECOND, 0}, {"caddy", "--plaintext", APART, 0, 0, 0},
	{"caddy", "-p", APART, 0, 0, "hash-password"}, {"grafana-cli", "reset-admin-password", WORDS, 0, FIRST, 0},
	{"ab", "-A", APART, ':', 0, 0}, {"ab", "-P", APART, ':', 0, 0},
	/* containers and clouds */
	{"docker", "-p", BOTH, 0, 0, "login"}, {"podman", "-p", BOTH, 0, 0, "login"}, {"nerdctl", "-p", BOTH, 0, 0, "login"},
	{"buildah", "-p", BOTH, 0, 0, "login"}, {"helm", "-p", BOTH, 0, 0, "login"}, {"oras", "-p", BOTH, 0, 0, "login"},
	{"skopeo", "--creds", APART, ':', 0, 0}, {"skopeo", "--creds=", JOINED, ':', 0, 0}, {"skopeo", "--src-creds", APART, ':', 0, 0},
	{"skopeo", "--src-creds=", JOINED, ':', 0, 0}, {"skopeo", "--dest-creds", APART, ':', 0, 0},
	{"skopeo", "--dest-creds=", JOINED, ':', 0, 0},
	{"podman", "--creds", APART, ':', 0, 0}, {"podman", "--creds=", JOINED, ':', 0, 0}, {"buildah", "--creds", APART, ':', 0, 0},
	{"buildah", "--creds=", JOINED, ':', 0, 0}, {"pulumi", "set", WORDS, 0, FIRST | SECOND, "--secret"},
	{"kubectl", "--from-literal", APART, '=', 0, 0}, {"kubectl", "--from-literal=", JOINED, '=', 0, 0},
	{"aws", "--value", APART, 0, 0, "put-parameter"}, {"az", "--value", APART, 0, 0, "secret"},
	{"aws", "*aws_secret_access_key", WORDS, 0, FIRST, 0}, {"aws", "*aws_session_token", WORDS, 0, FIRST, 0},
	{"az", "-p", APART, 0, 0, "login"},
	{"doctl", "-t", APART, 0, 0, 0}, {"mc", "add", WORDS, 0, THIRD, "user"}, {"vault", "value=", JOINED, 0, 0, "put"},
	{"bw", "login", WORDS, 0, SECOND, 0}, {"bw", "unlock", WORDS, 0, FIRST, 0}, {"glab", "-t", APART, 0, 0, "login"},
	{"gitlab-runner", "-r", APART, 0, 0, "register"}, {"cargo", "login", WORDS, 0, FIRST, 0}, {"dotnet", "-k", APART, 0, 0, "push"},
	{"poetry", "pypi-token*", WORDS, 0, FIRST, 0}, {"poetry", "http-basic*", WORDS, 0, SECOND, 0},
	{"composer", "http-basic*", WORDS, 0, SECOND, 0}, {"composer", "github-oauth*", WORDS, 0, FIRST, 0},
	{"bundle", "set", WORDS, ':', SECOND, 0}, {"yarn", "*AuthToken", WORDS, 0, FIRST, 0}, {"mc", "set", WORDS, 0, THIRD | FOURTH, 0},
	{"rclone", "pass", WORDS, 0, FIRST, 0},
	{"rclone", "obscure", WORDS, 0, FIRST, 0}, {"vault", "login", WORDS, 0, FIRST, 0}, {"vault", "unseal", WORDS, 0, FIRST, 0},
	{"ngrok", "*authtoken", WORDS, 0, FIRST, 0}, {"npm", "*_authToken", WORDS, 0, FIRST, 0}, {"npm", "*_auth", WORDS, 0, FIRST, 0},
	{"npm", "*_password", WORDS, 0, FIRST, 0},
	/* accounts, keys, archives, desktops */
	{"sshpass", "-p", BOTH, 0, 0, 0}, {"ssh-keygen", "-N", BOTH, 0, 0, 0}, {"ssh-keygen", "-P", BOTH, 0, 0, 0},
	{"useradd", "-p", BOTH, 0, 0, 0}, {"usermod", "-p", BOTH, 0, 0, 0}, {"dscl", "-passwd", WORDS, 0, FIRST, 0},
	{"mkpasswd", 0, WORDS, 0, FIRST | SECOND, 0}, {"htpasswd", "-bcB", WORDS, 0, THIRD, 0}, {"htpasswd", "-cbB", WORDS, 0, THIRD, 0},
	{"htpasswd", "-b", WORDS, 0, THIRD, 0},
	{"htpasswd", "-bc", WORDS, 0, THIRD, 0}, {"htpasswd", "-cb", WORDS, 0, THIRD, 0}, {"htpasswd", "-bB", WORDS, 0, THIRD, 0},
	{"htpasswd", "-Bb", WORDS, 0, THIRD, 0}, {"htpasswd", "-nb", WORDS, 0, SECOND, 0}, {"htpasswd", "-bn", WORDS, 0, SECOND, 0},
	{"htpasswd", "-nbB", WORDS, 0, SECOND, 0}, {"openssl", "-k", APART, 0, 0, 0}, {"openssl", "-K", APART, 0, 0, 0},
	{"openssl", "passwd", WORDS, 0, FIRST | SECOND, 0}, {"openssl", "-hmac", APART, 0, 0, 0}, {"openssl", "-macopt", APART, ':', 0, 0},
	{"cryptsetup", "--key", APART, 0, 0, 0}, {"veracrypt", "-p", BOTH, 0, 0, 0},
	{"truecrypt", "-p", BOTH, 0, 0, 0}, {"keyctl", "add", WORDS, 0, THIRD, 0}, {"7z*", "-p", JOINED, 0, 0, 0},
	{"zip", "-rP", APART, 0, 0, 0}, {"zip", "-erP", APART, 0, 0, 0}, {"unar", "-p", APART, 0, 0, 0},
	{"arj", "-g", JOINED, 0, 0, 0}, {"pdfto*", "-upw", APART, 0, 0, 0}, {"pdfto*", "-opw", APART, 0, 0, 0}, {"mutool", "-p", APART, 0, 0, 0},
	{"signtool", "/p", APART, 0, 0, 0}, {"zip", "-P", BOTH, 0, 0, 0},
	{"unzip", "-P", BOTH, 0, 0, 0}, {"rar", "-p", JOINED, 0, 0, 0}, {"rar", "-hp", JOINED, 0, 0, 0}, {"unrar", "-p", JOINED, 0, 0, 0},
	{"qpdf", "--encrypt", WORDS, 0, FIRST | SECOND, 0}, {"pdftk", "user_pw", WORDS, 0, FIRST, 0}, {"pdftk", "owner_pw", WORDS, 0, FIRST, 0},
	{"pdftk", "input_pw", WORDS, 0, FIRST, 0}, {"xfreerdp*", "/p:", JOINED, 0, 0, 0}, {"wlfreerdp*", "/p:", JOINED, 0, 0, 0},
	{"sdl-freerdp*", "/p:", JOINED, 0, 0, 0}, {"rdesktop", "-p", APART, 0, 0, 0},
};

/* What takes a secret from its standard input: the one that echoes into it, echoes one. */
static const char *const secret_readers[] = {
	"sudo -S", "sudo -kS", "sudo -Sk", "--password-stdin", "--stdin", "--passphrase-fd", "--with-token", "passwd", "kinit",
	"--passwd-on-stdin", "cryptsetup", "smbpasswd", "su -c",
};

/* Addresses in which what follows is the key. */
static const char *const secret_addresses[] = {"api.telegram.org/bot", "hooks.slack.com/services/", "discord.com/api/webhooks/",
					       "rtmp.youtube.com/live2/", "live.twitch.tv/app/"};
