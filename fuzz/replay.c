/*
 * The main() of fuzz targets in ordinary builds: runs the target on each file of the folders named,
 * so that the corpora are regression tests. Fails when a folder has no file.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_BYTES_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *folder, const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name); /* a cut path fails to open */
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    uint8_t *data = malloc(INPUT_BYTES_MAX);
    size_t size = data == NULL ? 0 : fread(data, 1, INPUT_BYTES_MAX, file);
    fclose(file);
    /* A copy of the exact size lets the address sanitizer see a read past the end. */
    uint8_t *exact = malloc(size + 1);
    if (data == NULL || exact == NULL) {
        abort();
    }
    memcpy(exact, data, size);
    free(data);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 0;
}

/* How many files ran; -1 after an error. */
static int replay_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        perror(folder);
        return -1;
    }
    int count = 0;
    struct dirent *entry;
    while (count >= 0 && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            count = replay_file(folder, entry->d_name) == 0 ? count + 1 : -1;
        }
    }
    closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int count = replay_folder(argv[i]);
        if (count <= 0) {
            fprintf(stderr, "%s: nothing to replay\n", argv[i]);
            return 1;
        }
        printf("%s: %d inputs\n", argv[i], count);
    }
    return 0;
}
