/** A file that is imported `with { type: 'text' }`. */
declare module '*.sql' {
  const text: string
  export default text
}
