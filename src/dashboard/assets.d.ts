// Files of the pages, imported with `{ type: 'text' }`: their text.
declare module '*.js' {
  const text: string
  export default text
}
declare module '*.mjs' {
  const text: string
  export default text
}
declare module '*.css' {
  const text: string
  export default text
}
declare module '*.svg' {
  const text: string
  export default text
}
