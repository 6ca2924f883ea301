/* The folders of a recording's traces and profiles are its own: FOLDER/NAME.traces and FOLDER/NAME.profiles for FOLDER/NAME.db, so that several
 * recordings in one folder do not mix. Earlier recorders put those of all of them into FOLDER/traces and FOLDER/profiles.
 */
#pragma once

#include "machine/recording/store.h"

/* Makes the folders where they are not there, and moves into them what is this recording's in the shared ones: a trace that is of the time of
 * the mark it is named after, a profile of a time that was recorded. What is not stays where it is: nothing is deleted. For the recorder, before
 * it writes any. 0 or -errno. */
int own_folders_make(const struct store_paths *recording);
