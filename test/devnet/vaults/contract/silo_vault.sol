// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {ERC4626Mock} from '@openzeppelin/contracts/mocks/token/ERC4626Mock.sol';
import {IERC20} from '@openzeppelin/contracts/token/ERC20/IERC20.sol';
import {Math} from '@openzeppelin/contracts/utils/math/Math.sol';

/// OpenZeppelin's vault that lends a part of its assets, so that it may owe more than it has, and that has a cooldown in
/// the manner of Ethena's sUSDe: while that is not zero, shares go to a silo first, which `maxWithdraw` does not say.
contract SiloVault is ERC4626Mock {
    struct Cooldown {
        uint104 cooldownEnd;
        uint152 underlyingAmount;
    }

    error OperationNotAllowed();
    error InvalidCooldown();

    uint24 public cooldownDuration;
    mapping(address => Cooldown) public cooldowns;
    uint256 public lent;
    uint256 public siloed;

    constructor(address underlying) ERC4626Mock(underlying) {}

    function setCooldownDuration(uint24 duration) external {
        cooldownDuration = duration;
    }

    function lend(address to, uint256 value) external {
        lent += value;
        IERC20(asset()).transfer(to, value);
    }

    function idle() public view returns (uint256) {
        return IERC20(asset()).balanceOf(address(this)) - siloed;
    }

    function totalAssets() public view override returns (uint256) {
        return idle() + lent;
    }

    function maxWithdraw(address owner) public view override returns (uint256) {
        return Math.min(super.maxWithdraw(owner), idle());
    }

    function maxRedeem(address owner) public view override returns (uint256) {
        return Math.min(super.maxRedeem(owner), _convertToShares(idle(), Math.Rounding.Floor));
    }

    function withdraw(uint256 assets, address receiver, address owner) public override returns (uint256) {
        if (cooldownDuration > 0) revert OperationNotAllowed();
        return super.withdraw(assets, receiver, owner);
    }

    function redeem(uint256 shares, address receiver, address owner) public override returns (uint256) {
        if (cooldownDuration > 0) revert OperationNotAllowed();
        return super.redeem(shares, receiver, owner);
    }

    function cooldownShares(uint256 shares) external {
        uint256 assets = convertToAssets(shares);
        _burn(msg.sender, shares);
        siloed += assets;
        cooldowns[msg.sender].cooldownEnd = uint104(block.timestamp + cooldownDuration);
        cooldowns[msg.sender].underlyingAmount += uint152(assets);
    }

    function unstake(address receiver) external {
        Cooldown memory own = cooldowns[msg.sender];
        if (block.timestamp < own.cooldownEnd && cooldownDuration != 0) revert InvalidCooldown();
        delete cooldowns[msg.sender];
        siloed -= own.underlyingAmount;
        IERC20(asset()).transfer(receiver, own.underlyingAmount);
    }
}
