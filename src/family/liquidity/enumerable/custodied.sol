// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {EnumerablePositions, IManager} from './positions.sol';

/// Positions of an exchange whose custodians, such as farms and gauges, hold positions for wallets and keep a book of whom
/// each is credited to. So a position is of exactly one wallet: of the manager's owner, or, if that is a custodian, of the
/// one that it is credited to; of none if it was sent there by a plain transfer.
abstract contract CustodiedPositions is EnumerablePositions {
    /// What the rewards of one position can burn and write, without the price of a token that is new with them.
    uint256 private constant REWARD_GAS = 1_000_000;
    uint256 private constant REWARD_BYTES_MAX = 1_300;

    /// The functions by which a custodian enumerates what it holds for a wallet: `(address)`, `(address, uint256)`.
    function heldCount() internal pure virtual returns (bytes4);
    function heldItem() internal pure virtual returns (bytes4);

    /// The wallet that a custodian credits a position to; 0 for none. `wallet` is the one that is asked about, 0 if none
    /// is: a book may answer about a wallet alone.
    function creditedTo(
        Page memory page,
        address custodian,
        uint256 id,
        address wallet
    ) internal view virtual returns (address);

    function managerRow(Deployments calldata deployments, uint256 row) internal pure override returns (uint256) {
        address second = deployments.factories[row];
        for (uint256 i = 0; i < row; i++) {
            if (deployments.managers[i] == second) return i;
        }
        return row;
    }

    function countSelector(Row memory row) internal pure override returns (bytes4) {
        return isCustodian(row) ? heldCount() : IManager.balanceOf.selector;
    }

    function itemSelector(Row memory row) internal pure override returns (bytes4) {
        return isCustodian(row) ? heldItem() : IManager.tokenOfOwnerByIndex.selector;
    }

    function isOwned(
        Page memory page,
        Row memory row,
        uint256 id,
        address wallet
    ) internal view override returns (bool) {
        if (!isCustodian(row)) return true;
        if (!ask1(page, row.manager, IManager.ownerOf.selector, id, 32)) return false;
        if (address(uint160(word(page.answer))) != row.holder) return false;
        return creditedTo(page, row.holder, id, wallet) == wallet;
    }

    function findHolder(
        Page memory page,
        Seen memory,
        Deployments calldata deployments,
        uint256 row,
        uint256 id,
        address owner
    ) internal view virtual override returns (uint256, address) {
        for (uint256 i = row + 1; i < deployments.managers.length; i++) {
            if (deployments.managers[i] != owner || managerRow(deployments, i) != row) continue;
            return (i, creditedTo(page, owner, id, address(0)));
        }
        return (row, owner);
    }

    function limit(
        Deployments calldata deployments,
        uint256 bytesMax
    ) internal pure override returns (Limits memory limits) {
        uint256 rows = deployments.managers.length;
        bool hasCustodian = rows > 0 && managerRow(deployments, rows - 1) != rows - 1;
        if (!hasCustodian) return computeLimits(bytesMax);
        limits = computeLimits(bytesMax > REWARD_BYTES_MAX ? bytesMax - REWARD_BYTES_MAX : 0);
        limits.gasDue += REWARD_GAS;
    }

    /// Begins a reward of the next position, whose words follow, each of 32 bytes; `ordinal` is its token's, which
    /// stands before it. Nothing may be allocated.
    function putReward(Page memory page, uint256 ordinal, uint256 count) internal pure {
        put(page, 7, 1);
        put(page, ordinal, 2);
        put(page, count, 1);
    }
}
