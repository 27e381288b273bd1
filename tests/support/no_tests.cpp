// The program that owns the headers which all tests share (CMakeLists.txt). It does nothing.
int main() { return 0; }
