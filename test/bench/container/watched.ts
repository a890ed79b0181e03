/** The program with the watch of its event loop in it, which the executable is built from. */
import '../holds/watch.ts'
import '../../../src/main.ts'
