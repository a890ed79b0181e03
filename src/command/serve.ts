import { serveBun } from '../http/bun.ts'
import { serve } from '../service/serve.ts'
import type { Command } from './command.ts'

/** `serve`: also what no command at all does. */
export const serveCommand: Command = {
  name: 'serve',
  positionals: [],
  options: {},
  summary: 'Serve the API (also what no command does)',
  json: 'changes nothing: the log on standard error is JSON lines in any case',
  run: (_args, io) => serve(io.config(), { ...io, listen: serveBun }),
}
