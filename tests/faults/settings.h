/* What the programs that torture a step run with. */
#ifndef FAULTS_SETTINGS_H
#define FAULTS_SETTINGS_H

#include <stdbool.h>

#define FAULTS_BUDGET "2" /* seconds that a public call may wait for the device */
#define FAULTS_SLACK 1.0  /* and how much longer it may take */

/* A folder of its own for everything that is written, made of the template, the layer, and settings
 * that do not depend on the user. False: there is no folder. */
bool faults_use_settings(char *folder);
void faults_remove_folder(const char *folder);

/* Compiling everything for the first time takes its time; what hangs later shall be noticed
 * soon. */
void faults_set_patience(bool patient);

#endif
