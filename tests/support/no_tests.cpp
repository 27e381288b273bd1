// The program that owns the headers all tests share (CMakeLists.txt); it does nothing.
int main() { return 0; }
