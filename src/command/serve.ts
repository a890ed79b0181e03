import { serveBun } from '../http/server/bun.ts'
import { serve } from '../service/serve.ts'
import type { Command } from './command.ts'

/** `serve`: also the default. */
export const serveCommand: Command = {
  name: 'serve',
  summary: 'Serve the API, asked by address, as localhost, or by a name in PUBLIC_URL or ALLOWED_HOSTS; the default',
  json: 'changes nothing: the log on standard error is JSON lines in any case',
  run: (_args, io) => serve(io.config(), { ...io, listen: serveBun }),
}
