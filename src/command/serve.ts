import { serveBun } from '../http/bun.ts'
import { serve } from '../serve.ts'
import type { Command } from './command.ts'

/** `serve`: also what no command at all does. */
export const serveCommand: Command = {
  name: 'serve',
  positionals: [],
  options: {},
  summary: 'Serve the API (also what no command does)',
  run: (_args, io) => serve(io.config(), { ...io, listen: serveBun }),
}
