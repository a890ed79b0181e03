// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {LensPage} from '../../../../chain/call/page.sol';

/// Finds the positions that a wallet owns, which the position manager does not list. Its code stands in the place of the
/// manager's for the length of one `eth_call`, so that it reads the manager's own storage: `_ownerOf` of every id, newest
/// first.
///
/// The answer is the header of `page.sol`, where taken counts the ids at its end, then u256 what the manager has stored as
/// the wallet's balance, u256 its next id, u256 the highest id that was not looked at, and each id that the wallet owns as
/// a u256. The caller compares the first two with the manager's own answers, which shows whether its storage has the
/// expected layout.
contract Lens is LensPage {
    /// Of solmate's ERC721 and of PositionManager, v4-periphery 1.0.3.
    uint256 private constant OWNER_SLOT = 2;
    uint256 private constant BALANCE_SLOT = 3;
    uint256 private constant NEXT_ID_SLOT = 8;
    /// Gas reserved for one more id and for the answer.
    uint256 private constant REST_GAS = 60_000;
    /// Most ids in an answer.
    uint256 private constant FOUND_MAX = 4_096;

    /// Looks first at the ids `known`, which descend, then at `count` ids from `from` down, or from the newest if that is 0.
    /// Ends early if `foundMax` are found, or as many as the wallet's balance if that is 0, and before gas could run out.
    function scan(
        address wallet,
        uint256 from,
        uint256 count,
        uint256 foundMax,
        uint256[] calldata known
    ) external view {
        Page memory page;
        begin(page);
        uint256 nextId = stored(NEXT_ID_SLOT);
        uint256 balance = stored(slotOf(uint160(wallet), BALANCE_SLOT));
        if (from == 0 || from >= nextId) from = nextId == 0 ? 0 : nextId - 1;
        if (foundMax == 0) foundMax = balance;
        if (foundMax > FOUND_MAX) foundMax = FOUND_MAX;
        put(page, balance, 32);
        put(page, nextId, 32);
        uint256 restAt = page.cursor;
        put(page, 0, 32);
        uint256 start = page.cursor;
        uint256 cursor = start;
        for (uint256 i = 0; i < known.length; i++) {
            if (address(uint160(stored(slotOf(known[i], OWNER_SLOT)))) != wallet) continue;
            set(cursor, known[i]);
            cursor += 32;
        }
        uint256 rest;
        uint256 to = from > count ? from - count + 1 : 1;
        (cursor, rest) = look(wallet, from, to, cursor, start + foundMax * 32, known);
        set(restAt, rest);
        page.taken = (cursor - start) / 32;
        page.checkpoint = cursor;
        finish(page);
    }

    function look(
        address wallet,
        uint256 from,
        uint256 to,
        uint256 cursor,
        uint256 end,
        uint256[] calldata known
    ) private view returns (uint256 cursorAfter, uint256 rest) {
        assembly ("memory-safe") {
            let skip := known.offset
            let skipEnd := add(skip, mul(known.length, 32))
            let next := 0
            if lt(skip, skipEnd) { next := calldataload(skip) }
            mstore(32, OWNER_SLOT)
            let id := from
            for {} and(and(iszero(lt(id, to)), lt(cursor, end)), gt(gas(), REST_GAS)) { id := sub(id, 1) } {
                // Known ids were looked at before, and those above the first one are not asked about.
                for {} gt(next, id) {} {
                    skip := add(skip, 32)
                    next := 0
                    if lt(skip, skipEnd) { next := calldataload(skip) }
                }
                if eq(next, id) { continue }
                mstore(0, id)
                if eq(and(sload(keccak256(0, 64)), 0xffffffffffffffffffffffffffffffffffffffff), wallet) {
                    mstore(cursor, id)
                    cursor := add(cursor, 32)
                }
            }
            rest := id
            cursorAfter := cursor
        }
    }

    function stored(uint256 slot) private view returns (uint256 value) {
        assembly ("memory-safe") {
            value := sload(slot)
        }
    }

    function slotOf(uint256 key, uint256 mappingSlot) private pure returns (uint256 slot) {
        assembly ("memory-safe") {
            mstore(0, key)
            mstore(32, mappingSlot)
            slot := keccak256(0, 64)
        }
    }

    function beforeCall(Page memory, uint256) internal view override {}
}
