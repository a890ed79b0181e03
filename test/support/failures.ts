/**
 * What to look at after a run that failed: of each test its file and line, its name, what was wrong, and the command
 * that runs it alone. Takes the report that `bun test` writes in JUnit's form.
 */
export function failuresOf(report: string): string {
  return casesOf(report)
    .map(([, test = '', failure = '', trace = '']) => {
      const { file = '', line = '', name = '' } = attributesOf(test)
      const place = /at .*?([\w./-]+_test\.ts:\d+)/.exec(textOf(trace))?.[1] ?? [file, line].filter(Boolean).join(':')
      const said = attributesOf(failure)['message'] ?? ''
      const [first = '', ...rest] = said.split('\n').filter((each) => each.trim() !== '')
      const shown = [first, ...rest.slice(0, LINES_MAX)].map((each) => `  ${each.slice(0, WIDTH_MAX)}`)
      // In brackets stands what is no test: a hook, or a file that ended the process.
      const only = name.startsWith('(') ? '' : ` -t '${name.replaceAll(/[^\w ,:;=/-]/g, '.')}'`
      return [`${place}  ${name}`, ...shown, `  again: bun test ${file} --timeout=60000${only}`].join('\n')
    })
    .join('\n\n')
}

/** Files in which a test failed, each once. */
export function failedFilesOf(report: string): string[] {
  return [...new Set(casesOf(report).flatMap(([, test = '']) => attributesOf(test)['file'] ?? []))]
}

function casesOf(report: string) {
  return [...report.matchAll(/<testcase ([^>]*[^/])>\s*<failure([^>]*?)(?:\/>|>([\s\S]*?)<\/failure>)/g)]
}

const LINES_MAX = 12
const WIDTH_MAX = 200
const ENTITIES: Readonly<Record<string, string>> = { quot: '"', apos: "'", lt: '<', gt: '>', amp: '&' }

function attributesOf(tag: string): Readonly<Record<string, string>> {
  return Object.fromEntries([...tag.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value = '']) => [key, textOf(value)]))
}

function textOf(escaped: string): string {
  return escaped.replaceAll(/&(?:#(\d+)|(\w+));/g, (whole, code, name) =>
    code === undefined ? (ENTITIES[name] ?? whole) : String.fromCodePoint(Number(code)),
  )
}
