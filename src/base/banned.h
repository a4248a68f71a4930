/*
 * Functions nobody calls. The check in tools/tidy.py names each use; this header poisons them for the
 * compiler where a file includes it last.
 */
#pragma once
#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol atoll gets alloca
