// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import { BareToken } from './token.sol';

/// A vault in the manner of ERC-4626, of which the bank mints the shares, that answers as its mood is: 0 what a share has
/// in it, lent or not; 1 a thousand times that; 2 it reverts; 3 burns all gas; 4 answers half a word; 5 a mebibyte; 6
/// nothing; 7 what a share has in it, after asking thirty markets.
contract Vault is BareToken {
    uint8 public immutable decimals;
    address public immutable asset;
    uint256 public mood;
    /// What its owner borrowed from it against nothing.
    uint256 public lent;

    constructor(address asset_, uint8 decimals_) {
        asset = asset_;
        decimals = decimals_;
    }

    function setMood(uint256 mood_) external {
        mood = mood_;
    }

    function lend(address to, uint256 value) external {
        lent += value;
        BareToken(asset).transfer(to, value);
    }

    function convertToAssets(uint256 shares) external view returns (uint256) {
        return (worth() * shares) / totalSupply;
    }

    /// Scaled by 1e18, as Lido and Rocket Pool do.
    function stEthPerToken() external view returns (uint256) {
        return (worth() * 1e18) / totalSupply;
    }

    function exchangeRate() external view returns (uint256) {
        return (worth() * 1e18) / totalSupply;
    }

    function worth() private view returns (uint256 assets) {
        assets = BareToken(asset).balanceOf(address(this)) + lent;
        if (mood == 1) assets *= 1_000;
        if (mood == 2) revert('no');
        if (mood == 3) while (true) assets++;
        if (mood == 4) {
            assembly {
                return(0, 16)
            }
        }
        if (mood == 5) {
            assembly {
                return(0, 1048576)
            }
        }
        if (mood == 6) assets = 0;
        if (mood == 7) for (uint256 end = gasleft() - 1_350_000; gasleft() > end; ) {}
    }
}
