/**
 * What to look at after a run that failed: of each test its file and line, its name, what was wrong, and the command
 * that runs it alone. Takes the report that `bun test` writes in JUnit's form.
 */
export function formatFailures(report: string): string {
  return listCases(report)
    .map(([, test = '', failure = '', trace = '']) => {
      const { file = '', line = '', name = '' } = parseAttributes(test)
      const location =
        /at .*?([\w./-]+_test\.ts:\d+)/.exec(decodeXmlText(trace))?.[1] ?? [file, line].filter(Boolean).join(':')
      const said = parseAttributes(failure)['message'] ?? ''
      const [first = '', ...rest] = said.split('\n').filter((each) => each.trim() !== '')
      const shown = [first, ...rest.slice(0, LINES_MAX)].map((each) => `  ${each.slice(0, WIDTH_MAX)}`)
      // In brackets stands what is not a test: a hook, or a file that ended the process.
      const only = name.startsWith('(') ? '' : ` -t '${name.replaceAll(/[^\w ,:;=/-]/g, '.')}'`
      return [`${location}  ${name}`, ...shown, `  again: bun test ${file} --timeout=60000${only}`].join('\n')
    })
    .join('\n\n')
}

/** Errors outside of tests. The report leaves them out. */
export function listStrayErrors(said: string): string[] {
  return [...said.matchAll(STRAY)].map(([, text = '']) => text.trim())
}

function listCases(report: string) {
  return [...report.matchAll(/<testcase ([^>]*[^/])>\s*<failure([^>]*?)(?:\/>|>([\s\S]*?)<\/failure>)/g)]
}

const STRAY = /^# Unhandled error between tests\n-+\n([\s\S]*?)^-{10,}$/gm
const LINES_MAX = 12
const WIDTH_MAX = 200
const ENTITIES: Readonly<Record<string, string>> = { quot: '"', apos: "'", lt: '<', gt: '>', amp: '&' }

function parseAttributes(tag: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...tag.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value = '']) => [key, decodeXmlText(value)]),
  )
}

function decodeXmlText(escaped: string): string {
  return escaped.replaceAll(/&(?:#(\d+)|(\w+));/g, (whole, code, name) =>
    code === undefined ? (ENTITIES[name] ?? whole) : String.fromCodePoint(Number(code)),
  )
}
