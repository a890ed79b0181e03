/**
 * `bun .ci/sql_ran.ts LOG`: fails if a statement of `sql/queries`, or a function that the program calls by name, is not
 * in the log of a PostgreSQL server with `log_statement=all`. Tests skipped on that server must not include any of
 * its statements.
 */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { sqlNames, sqlText } from './sql/files.ts'

/** Tests run them between a primary and a standby that they start themselves. */
const ELSEWHERE = ['standby_fence', 'standby_progress']

const [path] = process.argv.slice(2)
if (path === undefined) throw new Error('Cannot look for statements: the path of a log is missing')
const ran = await readStatements(path)

const queries = sqlNames('queries').filter((name) => !ran.has(withoutComments(sqlText('queries', name))))
const calls = [...ran].join('\n')
const functions = sqlNames('functions')
  .filter((name) => /^-- lane /m.test(sqlText('functions', name)))
  .filter((name) => !calls.includes(`${name}(`))
const missing = [...queries, ...functions].filter((name) => !ELSEWHERE.includes(name))
if (missing.length > 0) throw new Error(`No test of this run sent: ${missing.join(', ')}`)
console.log(`all ${sqlNames('queries').length} queries ran, but ${ELSEWHERE.join(' and ')}`)

/** Every statement once, without comments and line breaks. What creates a function is not a call of it. */
async function readStatements(log: string): Promise<ReadonlySet<string>> {
  const statements = new Set<string>()
  let lines: string[] = []
  const end = () => {
    const text = withoutComments(lines.join('\n'))
    if (!/^(create|do) /i.test(text)) statements.add(text)
    lines = []
  }
  for await (const line of createInterface({ input: createReadStream(log) })) {
    if (line.startsWith('\t')) {
      lines.push(line)
      continue
    }
    end()
    const first = /LOG: {2}(?:execute \S+|statement): (.*)$/.exec(line)?.[1]
    if (first !== undefined) lines.push(first)
  }
  end()
  return statements
}

function withoutComments(sql: string): string {
  return sql
    .replaceAll(/^\s*--.*$/gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(/;$/, '')
}
