declare module 'solc' {
  const solc: {
    /** Version with commit: `0.8.27+commit.40a35a09.Emscripten.clang`. */
    version(): string
    /** Takes and gives the standard JSON of the compiler. */
    compile(input: string): string
  }
  export default solc
}
