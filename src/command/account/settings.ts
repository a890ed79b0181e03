import { CLI_ACTOR } from '../../account/audit.ts'
import { listSwitches, type Switch, setSwitch } from '../../operator/switches.ts'
import { createSwitchboard } from '../../service/routes.ts'
import { withAccountDatabase } from '../account_database.ts'
import type { Command } from '../command.ts'
import { print, printRows } from '../print.ts'

const FEELS = 'the next request of every process feels it'

/** `settings list|off|on`. */
export const settingsCommands: readonly Command[] = [
  {
    name: 'settings list',
    summary: 'List what can be switched off: features and endpoints',
    run: async (args, io) => {
      const board = createSwitchboard(io.config())
      const switches = await withAccountDatabase(io, (db) => listSwitches(db, board))
      printRows(switches.map(shown), { args, io, none: 'Nothing can be switched off' })
    },
  },
  turn('off', { isOn: false, summary: `Switch a feature or an endpoint off; ${FEELS}` }),
  turn('on', { isOn: true, summary: `Switch a feature or an endpoint on again; ${FEELS}` }),
]

function turn(verb: 'on' | 'off', { isOn, summary }: { readonly isOn: boolean; readonly summary: string }): Command {
  return {
    name: `settings ${verb}`,
    positionals: ['snapshots, mcp, history or an endpoint such as "GET /v1/lending/aave-v3"'],
    summary,
    run: async (args, io) => {
      const [name = ''] = args.positionals
      const board = createSwitchboard(io.config())
      const turned = await withAccountDatabase(io, (db) => setSwitch(db, { name, on: isOn, board, by: CLI_ACTOR }))
      const state = turned.on ? 'on' : turned.off_by === 'environment' ? 'off by the environment' : 'off'
      print(shown(turned), { args, io, text: `${turned.name} is ${state}` })
    },
  }
}

function shown({ kind, name, on, off_by, off_at }: Switch) {
  return { kind, name, state: on ? 'on' : 'off', off_by, off_at }
}
