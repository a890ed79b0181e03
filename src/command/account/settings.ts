import { listSwitches, type Switch, setSwitch } from '../../operator/switches.ts'
import { createSwitchboard } from '../../service/routes.ts'
import { withAccountDatabase } from '../account_database.ts'
import type { Command } from '../command.ts'
import { print, printRows } from '../print.ts'
import { findActor } from './actor.ts'

const TAKES_EFFECT = 'from the next request on'

/** `settings list|off|on`. */
export const settingsCommands: readonly Command[] = [
  {
    name: 'settings list',
    summary: 'List the features and endpoints that can be switched off',
    run: async (args, io) => {
      const board = createSwitchboard(io.config())
      const switches = await withAccountDatabase(io, (db) => listSwitches(db, board))
      printRows(switches.map(toTableRow), { args, io, none: 'Nothing can be switched off' })
    },
  },
  switchCommand('off', { isOn: false, summary: `Switch a feature or an endpoint off, ${TAKES_EFFECT}` }),
  switchCommand('on', { isOn: true, summary: `Switch a feature or an endpoint on again, ${TAKES_EFFECT}` }),
]

function switchCommand(
  verb: 'on' | 'off',
  { isOn, summary }: { readonly isOn: boolean; readonly summary: string },
): Command {
  return {
    name: `settings ${verb}`,
    positionals: ['name'],
    summary,
    more: () => 'A feature (snapshots, mcp, history, triggers) or an endpoint; settings list shows all.',
    example: `settings ${verb} "GET /v1/lending/aave-v3"`,
    run: async (args, io) => {
      const [name = ''] = args.positionals
      const board = createSwitchboard(io.config())
      const changed = await withAccountDatabase(io, async (db) =>
        setSwitch(db, { name, on: isOn, board, by: await findActor(io) }),
      )
      const state = changed.on ? 'on' : changed.off_by === 'environment' ? 'off by the environment' : 'off'
      print(toTableRow(changed), { args, io, text: `${changed.name} is ${state}` })
    },
  }
}

function toTableRow({ kind, name, on, off_by, off_at }: Switch) {
  return { kind, name, state: on ? 'on' : 'off', off_by, off_at }
}
