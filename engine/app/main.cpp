#include "engine/app/command_line.h"

int main(int argc, char** argv) { return tandem::app::run_program(argc, argv); }
