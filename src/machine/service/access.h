/* Who may ask the recorder, and as whom: the settings socket.mode and socket.group, and how /proc is mounted.
 *
 * `socket.mode` is the mode of RUN/socket, `socket.group` its group. Members of the group see what root sees; others see what
 * machine/model/visibility.h says. The socket's mode decides who can connect; the process that answers asks access_is_allowed() as well.
 */
#pragma once

#include "lib/data/config.h"
#include "machine/model/visibility.h"

#define ACCESS_MOUNTS "/proc/1/mounts" /* the recorder's unit may have a /proc of its own */

/* What the user with this uid may see. `mounts`: a file like ACCESS_MOUNTS. 0; -ENOENT: there is no group of that name (nobody is in it
 * then), as every other error the strictest view in *ret. */
int access_viewer(const struct config *c, const char *mounts, uint32_t uid, struct viewer *ret);
bool access_is_allowed(const struct config *c, const struct viewer *v);
/* Gives RUN/socket its group and mode, with CAP_SETGID alone. 0; -ENOENT: there is no such group; -errno. After an error only root may connect. */
int access_apply(const struct config *c, const char *run_dir);
