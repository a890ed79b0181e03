import { readFileSync } from 'node:fs'
import { type Command, CommandError } from './command.ts'

/** `licenses`: prints the notices that a build was given. Needs no database and no configuration. */
export const licensesCommand: Command = {
  name: 'licenses',
  summary: 'Print the licences of this program and of all software inside it',
  json: 'changes nothing: the answer is text',
  async run(_, io) {
    io.out((await readNotices()).trimEnd())
  },
}

/** Reads the notices inside the executable, or beside the bundle for Node. */
async function readNotices(): Promise<string> {
  const embedded =
    'Bun' in globalThis ? Bun.embeddedFiles.find((file) => getName(file) === 'licenses.notices') : undefined
  if (embedded !== undefined) return await embedded.text()
  try {
    return readFileSync(new URL('licenses.notices', import.meta.url), 'utf8')
  } catch (error) {
    const words =
      'Cannot print licences: a source checkout has those of its packages in node_modules; builds have a list'
    throw new CommandError(words, { cause: error })
  }
}

function getName(file: Blob): string {
  return 'name' in file && typeof file.name === 'string' ? file.name : ''
}
